"""Brokers: beans of share groups, and dead letter topics by Kafka's admin interface."""
