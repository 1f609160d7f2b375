"""The answers of ``/api/v1/dead-letters/records``."""

from datetime import datetime
from typing import Any

from pydantic import Field

from api.browsing.payload import Format
from api.schemas import TIME, Answer


class Payload(Answer):
    """A key, a value or a header; of a masked one the structure alone, or nothing but the size."""

    format: Format = Field(examples=["json"])
    content: Any = Field(
        description="JSON for json, avro and protobuf; a text for text and hex; null where it is masked.",
        examples=[{"order": "<number>", "customer": {"name": "<text of 12>"}}],
    )
    size_bytes: int | None = Field(description="Whole; null: the record has none.", examples=[408])
    schema_id: int | None = Field(description="Of the schema registry's wire format.", examples=[None])
    masked: bool = Field(examples=[True])
    cut: bool = Field(description="The end is not shown.", examples=[False])
    note: str = Field(description="Why it is not shown as what it is.", examples=[""])


class RecordHeader(Answer):
    """A header of a record; what tells of the failure is never masked."""

    name: str = Field(examples=["__connect.errors.topic"])
    value: Payload


class DeadLetterRecord(Answer):
    """A record as it is on its dead letter topic; "" and null are "not known"."""

    topic: str = Field(examples=["dlq.orders"])
    partition: int = Field(examples=[0])
    offset: int = Field(examples=[42])
    timestamp: datetime | None = Field(examples=[TIME])
    dialect: str = Field(examples=["connect"])
    source_topic: str = Field(examples=["orders"])
    source_partition: int | None = Field(examples=[0])
    source_offset: int | None = Field(examples=[17])
    consumergroup: str = Field(examples=[""])
    connector: str = Field(examples=["filesink"])
    error_class: str = Field(examples=["org.apache.kafka.connect.errors.DataException"])
    message: str = Field(examples=["Converting byte[] failed at offset 17"])
    fingerprint: str = Field(examples=["3f1c0a9be27d4455"])
    attempts: int = Field(description="How often a redrive has moved it.", examples=[0])
    key: Payload
    value: Payload
    headers: list[RecordHeader]


class Unread(Answer):
    """What was not looked at of a partition; the end is left out."""

    partition: int = Field(examples=[0])
    first_offset: int = Field(examples=[0])
    end_offset: int = Field(examples=[1000])


class DeadLetterRecords(Answer):
    """Records, and how far Kafka has been looked through; fewer than asked for do not mean the end."""

    items: list[DeadLetterRecord]
    next: str | None = Field(description="Cursor of the rest; null: all was looked at.", examples=[None])
    records_read: int = Field(description="For this page, matching or not.", examples=[50])
    unread: list[Unread] = Field(description="Empty: all was looked at.")
    unread_offsets: int = Field(description="How many that are; gaps are among them.", examples=[1000])
    filter_problems: dict[str, int] = Field(
        description="Why the filter could not be evaluated, and how often.", examples=[{}]
    )
