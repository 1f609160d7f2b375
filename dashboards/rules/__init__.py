"""Alert and recording rules for Prometheus, made from the metric catalogue."""
