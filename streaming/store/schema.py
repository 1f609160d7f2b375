"""The store's tables: a summary of bounded size. Kafka is the truth, no table has a row for every record.

Times are milliseconds since the epoch; texts are never null, "" is "not known". The same tables serve SQLite
and PostgreSQL. ``open`` adds a table that is missing to a store of the same version.

This module is a table: its length is the number of tables.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

VERSION = 1

metadata = MetaData()


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, Text, primary_key=key, nullable=False)


def _integer(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, BigInteger, primary_key=key, autoincrement=False, nullable=False)


schema_version = Table("schema_version", metadata, Column("version", Integer, primary_key=True))

batches = Table(
    "batches",
    metadata,
    _text("query_id", key=True),  # of the checkpoint: a new checkpoint is a new query
    _integer("batch_id"),  # the last one applied
    _integer("committed_at_ms"),
    _integer("duration_ms"),
    _integer("records"),
    _integer("lag_ms"),  # from the newest event's observation to the commit
)

offsets = Table(
    "offsets",  # where a query without checkpoint goes on
    metadata,
    _text("topic", key=True),
    _integer("partition", key=True),
    _integer("next_offset"),
)

marks = Table(
    "marks",  # the highest position counted of every source of events
    metadata,
    _text("source", key=True),
    _integer("epoch"),
    _integer("offset"),
    _integer("ordinal"),
)

series = Table(
    "series",
    metadata,
    _text("name", key=True),  # of streaming.store.series
    _text("labels", key=True),  # Series.key
    _integer("value"),
    _integer("first_ms"),
    _integer("last_ms"),
    _text("detail"),  # JSON object: facts of the latest event that counted
)

abandoned = Table(
    "abandoned",  # two evidences beside each other: the worker's log, and its threads
    metadata,
    _text("kafka_cluster", key=True),
    _text("worker", key=True),
    _text("connector", key=True),
    _text("task", key=True),  # "": the connector itself
    _integer("logged_total"),
    _integer("logged_current"),
    _integer("seen_total"),
    _integer("seen_current"),
    Column("seen", Boolean, nullable=False),  # whether a snapshot with threads ever covered the worker
    _integer("first_ms"),
    _integer("last_ms"),
    _text("message"),  # the latest log line
)

instances = Table(
    "instances",  # the latest snapshot of every worker
    metadata,
    _text("kafka_cluster", key=True),
    _text("worker", key=True),
    _text("connector", key=True),
    _text("task", key=True),
    _text("state"),
    _integer("abandoned"),
    _integer("observed_at_ms"),
)

share_groups = Table(
    "share_groups",  # the meters of every broker: as last seen, and added up over its restarts
    metadata,
    _text("kafka_cluster", key=True),
    _text("consumergroup", key=True),
    _text("broker", key=True),
    _integer("started_at_ms"),  # of the broker: its meters count from there
    _integer("records"),
    _integer("produce_requests"),
    _integer("failed_produce_requests"),
    _integer("records_total"),
    _integer("produce_requests_total"),
    _integer("failed_produce_requests_total"),
    _integer("observed_at_ms"),
)

dead_letter_topics = Table(
    "dead_letter_topics",  # the latest snapshot, also of topics that are not read
    metadata,
    _text("kafka_cluster", key=True),
    _text("dlq_topic", key=True),
    _text("source"),  # who told it last: a topic goes when that one no longer tells it
    _integer("partitions"),
    _integer("records"),
    _integer("oldest_at_ms"),  # 0: it is empty
    _text("named_by"),
    Column("read", Boolean, nullable=False),
    _integer("observed_at_ms"),
)

groups = Table(
    "dead_letter_groups",
    metadata,
    _text("fingerprint", key=True),
    _text("kafka_cluster"),
    _text("dlq_topic"),
    _text("dialect"),
    _text("source_topic"),
    _text("consumer"),  # connector, share group or application
    _text("error_class"),
    _text("message_pattern"),
    _text("message"),  # of the latest record
    _integer("records"),
    _integer("first_ms"),
    _integer("last_ms"),
    Index("dead_letter_groups_by_last", "last_ms", "fingerprint"),
)

samples = Table(
    "dead_letter_samples",  # the newest few of every group
    metadata,
    Column(
        "fingerprint",
        Text,
        ForeignKey("dead_letter_groups.fingerprint", ondelete="CASCADE"),
        primary_key=True,
    ),
    _text("dlq_topic", key=True),
    _integer("partition", key=True),
    _integer("offset", key=True),
    _integer("timestamp_ms"),
    _text("headers"),  # JSON list of [name, text], each cut
    Column("key", LargeBinary),  # null where the record has none; cut
    Column("value", LargeBinary),  # null where the record has none; cut
    _integer("key_bytes"),  # whole length; -1 for null
    _integer("value_bytes"),
)

sources = Table(
    "sources",
    metadata,
    _text("name", key=True),
    _text("kind"),
    Column("up", Boolean, nullable=False),
    _text("message"),
    _integer("since_ms"),  # of the present state
    _integer("heartbeat_ms"),
)
