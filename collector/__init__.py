"""Collectors: read what clients, workers and brokers report, and publish it as events."""
