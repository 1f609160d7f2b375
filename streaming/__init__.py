"""Spark Structured Streaming: from events and dead letters to rows of the store, exactly once."""
