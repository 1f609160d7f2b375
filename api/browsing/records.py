"""The answers of ``/api/v1/dead-letters/records``: rendered, and masked unless the caller may see them.

A file, JSON Lines or CSV that no spreadsheet takes for formulas, is written while the records are read. Its
last lines say more, of JSON Lines an object each, of CSV a row whose first cell begins with ``#``:
``filter_problems`` why the filter could not be evaluated, and how often; then, where the file ends early,
``next`` or ``problem`` how to continue.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from api.answers import TIME, Answer, answer_of
from api.browsing.browser import RecordPage
from api.browsing.payload import Format, Renderer, Shown, View
from api.errors import ApiError
from deadwatch.contract.errors import RequestError
from deadwatch.deadletter.record import DeadLetter, describes_failure
from deadwatch.runtime.csv_cells import csv_row


class Payload(Answer):
    """A key, a value or a header; when masked, its structure alone or nothing but its size."""

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
    """A header of a record; a header that describes the failure is never masked."""

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
    wrapper: str = Field(
        description="The class of an exception around it that says nothing by itself, as Spring writes.",
        examples=[""],
    )
    message: str = Field(examples=["Converting byte[] failed at offset 17"])
    fingerprint: str = Field(examples=["3f1c0a9be27d4455"])
    attempts: int = Field(description="How often a redrive has moved it.", examples=[0])
    key: Payload
    value: Payload
    headers: list[RecordHeader]
    headers_unreadable: bool = Field(
        description="The name of a header is no UTF-8, so that none can be read: a redrive skips the record.",
        examples=[False],
    )


class Unread(Answer):
    """Offsets of a partition that were not read; the end is not included."""

    partition: int = Field(examples=[0])
    first_offset: int = Field(examples=[0])
    end_offset: int = Field(examples=[1000])


class DeadLetterRecords(Answer):
    """Records, and how far Kafka has been read; fewer than `limit` do not mean the end."""

    items: list[DeadLetterRecord]
    next: str | None = Field(description="Cursor of the rest; null: all was looked at.", examples=[None])
    records_read: int = Field(description="For this page, matching or not.", examples=[50])
    unread: list[Unread] = Field(description="Empty: all was looked at.")
    unread_offsets: int = Field(description="How many that are; gaps are among them.", examples=[1000])
    filter_problems: dict[str, int] = Field(
        description="Why the filter could not be evaluated, and how often.", examples=[{}]
    )


@dataclass(frozen=True, slots=True)
class RecordRenderer:
    """Makes answers of dead letters, with the caller's view of payloads."""

    renderer: Renderer
    view: View
    unmasked: bool

    def page(self, found: RecordPage) -> DeadLetterRecords:
        """A page of records, and how far Kafka has been read."""
        return DeadLetterRecords(
            items=[self.record(record) for record in found.records],
            next=found.next,
            records_read=found.read,
            unread=[
                Unread(partition=partition, first_offset=first, end_offset=end)
                for partition, (first, end) in found.left.items()
            ],
            unread_offsets=sum(end - first for first, end in found.left.values()),
            filter_problems=dict(found.problems),
        )

    def record(self, record: DeadLetter) -> DeadLetterRecord:
        """One record as an answer."""
        return answer_of(
            DeadLetterRecord,
            record,
            key=self._payload(record.key),
            value=self._payload(record.value),
            headers=[self._header(name, raw) for name, raw in record.headers],
        )

    def _payload(self, raw: bytes | None) -> Payload:
        """Masked bytes are Protobuf only if the registry says so: else their values become field numbers."""
        by_registry = self.view is View.PROTOBUF and not self.unmasked
        view, masks = View.AUTO if by_registry else self.view, not self.unmasked
        return _answer(raw, self.renderer.show(raw, view, masks=masks), masked=masks)

    def _header(self, name: str, raw: bytes | None) -> RecordHeader:
        masks = not self.unmasked and not describes_failure(name)
        value = _answer(raw, self.renderer.header(raw, masks=masks), masked=masks)
        return RecordHeader(name=name.encode(errors="replace").decode(), value=value)


def _answer(raw: bytes | None, shown: Shown, *, masked: bool) -> Payload:
    size = None if raw is None else len(raw)
    return answer_of(Payload, shown, size_bytes=size, masked=masked and raw is not None)


PLACE: Final = (
    *("topic", "partition", "offset", "timestamp", "dialect", "source_topic", "source_partition"),
    *("source_offset", "consumergroup", "connector", "error_class", "message", "fingerprint", "attempts"),
)
COLUMNS: Final = (*PLACE, "key", "key_format", "key_bytes", "value", "value_format", "value_bytes", "headers")
Pages = Callable[[str | None, int, int], RecordPage | None]
"""The page after a cursor, of a file for which so many records are written and so many were read."""


class File(StrEnum):
    """The format of a file."""

    JSONL = "jsonl"
    CSV = "csv"

    @property
    def media_type(self) -> str:
        """The media type for the answer's header."""
        return "text/csv; charset=utf-8" if self is File.CSV else "application/jsonl"


def lines(file: File, shows: RecordRenderer, first: RecordPage | None, pages: Pages) -> Iterator[str]:
    """The file in pieces; each piece holds one page."""
    if file is File.CSV:
        yield csv_row(COLUMNS)
    problems: Counter[str] = Counter()
    found, after, written, read, ended = first, "", 0, 0, ""
    try:
        while found is not None:
            yield "".join(_row(file, shows.record(record)) for record in found.records)
            problems.update(found.problems)
            written, read, after = written + len(found.records), read + found.read, found.next or ""
            found = pages(after, written, read) if after else None
        ended = _last(file, "next", after) if after else ""
    except (ApiError, RequestError) as error:
        ended = _last(file, "problem", f"{error}; go on with after={after}")
    if problems:
        yield _last(file, "filter_problems", dict(problems.most_common(10)))
    if ended:
        yield ended


def _row(file: File, record: DeadLetterRecord) -> str:
    return _csv_row(record) if file is File.CSV else f"{record.model_dump_json()}\n"


def _last(file: File, name: str, told: str | dict[str, int]) -> str:
    if file is File.JSONL:
        return f"{json.dumps({name: told})}\n"
    return csv_row([f"# {name}: {told if isinstance(told, str) else json.dumps(told)}"])


def _csv_row(record: DeadLetterRecord) -> str:
    fields = record.model_dump(mode="json", include=set(PLACE))
    cells = [fields[name] for name in PLACE]
    for payload in (record.key, record.value):
        cells += [_content(payload), payload.format, payload.size_bytes]
    headers = [(header.name, header.value.content) for header in record.headers]
    return csv_row([*cells, json.dumps(headers, ensure_ascii=False)])


def _content(payload: Payload) -> str:
    content = payload.content
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
