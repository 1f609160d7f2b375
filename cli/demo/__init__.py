"""`deadwatch demo`: a real Kafka that fails, watched by the whole service."""
