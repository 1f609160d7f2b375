"""Logs of brokers, workers and clients: files, containers and topics, in every layout."""
