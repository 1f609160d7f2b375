"""Redrive orders and policies, and the decisions about a record; nothing here asks Kafka or the store."""
