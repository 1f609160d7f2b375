"""Collectors: read what clients, workers and brokers say, and publish it as events."""
