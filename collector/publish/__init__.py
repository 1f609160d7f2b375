"""From the sources to Kafka: the outbox, transactions, and what cannot be published."""
