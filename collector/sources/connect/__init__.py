"""Kafka Connect: its REST interface, and the beans of its workers."""
