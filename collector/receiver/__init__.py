"""The receiver: events and OpenTelemetry logs that come over HTTP."""
