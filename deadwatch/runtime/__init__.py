"""What every process needs to run: its life, health, Kafka connections, settings, logs and telemetry."""
