"""What every signal needs to know of a batch, in a few rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Row

from collector.contract.events import Event, Position
from streaming.event_rows import event_of
from streaming.store.batch import SeriesDelta, delta
from streaming.store.series import Series

LABELS = (
    "kafka_cluster",
    "application",
    "task",
    "topic",
    "client_id",
    "client",
    "timeout",
    "consumergroup",
    "decision",
    "reason",
    "order",
    "dlq_topic",
    "target_topic",
    "outcome",
    "outcome_reason",
    "fingerprint",
)
DETAILS = ("partition", "elapsed_ms", "records", "message")
NO_POSITION = Position(-1)
MAX_RECORDS = 2**31 - 1
"""What one event may say of records: no event makes a sum overflow."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Records of one topic and partition that share a kind, a source, all labels and a bucket of time.

    ``kind`` is empty for refused records and dead letters, ``refused`` for all but the former. ``detail``
    holds facts of the latest event; times are of the failure, for records without event of the record.
    ``redriven`` are the dead letters that a redrive has moved before.
    """

    topic: str
    partition: int
    kind: str
    source: str
    refused: str
    labels: Mapping[str, str]
    detail: Mapping[str, int | str]
    count: int
    records: int
    first_ms: int
    last_ms: int
    observed_ms: int
    first_offset: int
    last_offset: int
    redriven: int
    first_position: Position
    last_position: Position
    stateful: tuple[Event, ...]

    @property
    def is_letter(self) -> bool:
        """Whether these are dead letters."""
        return not self.kind and not self.refused

    def adds(self, series: Series, labels: Mapping[str, str], value: int) -> SeriesDelta:
        """What these records add to a counter."""
        return delta(series, labels, value, first_ms=self.first_ms, last_ms=self.last_ms, detail=self.detail)


def read(row: Row) -> Summary:
    """The summary in a row of ``one_pass``."""
    values = row.asDict()
    detail = values["detail"].asDict() if values["detail"] else {}
    return Summary(
        topic=values["topic"],
        partition=values["partition"],
        kind=values["kind"] or "",
        source=values["source"] or "",
        refused=values["refused"] or "",
        labels={name: values[f"label_{name}"] or "" for name in LABELS},
        detail={name: value for name, value in detail.items() if value is not None},
        **{
            name: values[name]
            for name in (
                *("count", "records", "first_ms", "last_ms", "observed_ms"),
                *("first_offset", "last_offset", "redriven"),
            )
        },
        first_position=_read_position(values["first_position"]),
        last_position=_read_position(values["last_position"]),
        stateful=tuple(event_of(event) for event in values["stateful"]),
    )


def of_event(event: Event, topic: str, partition: int, offset: int, *, stateful: bool) -> Summary:
    """The summary of one event, the record at ``offset``."""
    details = {name: getattr(event, name, None) for name in DETAILS}
    return Summary(
        topic=topic,
        partition=partition,
        kind=event.kind,
        source=event.source,
        refused="",
        labels={name: getattr(event, name, "") for name in LABELS},
        detail={name: value for name, value in details.items() if value is not None},
        count=1,
        records=min(max(getattr(event, "records", 0), 0), MAX_RECORDS),
        first_ms=event.happened_at_ms,
        last_ms=event.happened_at_ms,
        observed_ms=event.observed_at_ms,
        first_offset=offset,
        last_offset=offset,
        redriven=0,
        first_position=event.position,
        last_position=event.position,
        stateful=(event,) if stateful else (),
    )


def _read_position(row: Row) -> Position:
    return NO_POSITION if row.epoch is None else Position(row.epoch, row.offset, row.ordinal)
