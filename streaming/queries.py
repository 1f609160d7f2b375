"""The names that a checkpoint stands on: spelt once, never renamed."""

from typing import Final

FAILURES: Final = "deadwatch-failures"
"""The one query: events and dead letters in, deltas out. Its checkpoint is a setting."""

QUERY_ID_PROPERTY: Final = "sql.streaming.queryId"
"""Spark's local property with the id that the checkpoint gave the query."""
