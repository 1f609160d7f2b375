"""Counting anew from Kafka: into a store beside the live one, which then takes its place at once."""
