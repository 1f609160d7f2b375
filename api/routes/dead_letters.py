"""Dead letters by topic and by cause."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from api import dead_letter_topics, dead_letters, group_lists, redrives
from api.brokers import QueueRow
from api.browsing.masking import is_open
from api.dead_letter_topics import TopicRow
from api.dead_letters import GroupRow, SampleRow, Shelf
from api.group_lists import Asked, Order
from api.schemas import (
    DeadLetterGroup,
    DeadLetterGroupDetail,
    DeadLetterGroups,
    DeadLetterQueue,
    DeadLetterTopic,
    DeadLetterTopics,
    Header,
    Sample,
    SeriesPoint,
)
from api.service import PageQuery, Service, Serving
from api.times import instant
from api.unmasking import Seeing, Unmasking
from streaming.filter import MAX_CHARS
from streaming.store import trends

router = APIRouter(prefix="/dead-letters", tags=["dead letters"])


Fingerprint = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z_-]+$")]


class TopicsQuery(PageQuery):
    """Which topics."""

    order: dead_letter_topics.Order = Field(
        dead_letter_topics.Order.LATEST,
        description="First: the newest record; most waiting, of as many the newest record.",
    )


class GroupsQuery(PageQuery):
    """Which groups."""

    shelf: Shelf = Field(
        Shelf.ACTIVE, description="active: not archived, or grown since; archived: those that did not; all."
    )
    order: Order = Field(
        Order.LATEST,
        description="First: the newest record; most waiting, of as many the newest record; most records; "
        "newest cause.",
    )
    filter: str | None = Field(
        None, max_length=MAX_CHARS, description="CEL over what the records of a group have in common."
    )


@router.get("/topics")
def topics(service: Serving, query: Annotated[TopicsQuery, Query()]) -> DeadLetterTopics:
    """Dead letter topics, the one with the newest record first unless asked otherwise."""
    rows = service.waiting.get().topics
    page, following = dead_letter_topics.page(rows, query.order, query.after, query.limit)
    return DeadLetterTopics(items=[_topic(row) for row in page], next=following)


@router.get("/groups")
def groups(service: Serving, query: Annotated[GroupsQuery, Query()]) -> DeadLetterGroups:
    """Dead letters grouped by cause, the group with the newest record first unless asked otherwise.

    A filter looks at a limited number of groups at a time: while `next` is set there may be more, even on an
    empty page.
    """
    asked = Asked(
        order=query.order,
        filter=(query.filter or "").strip(),
        shelf=query.shelf,
        after=query.after,
        limit=query.limit,
    )
    waiting = service.waiting.get()
    with service.store.read() as connection:
        found = group_lists.find(connection, asked, waiting, service.now_ms())
    return DeadLetterGroups(items=[_group(row, waiting.of(row)) for row in found.rows], next=found.next)


@router.get("/groups/{fingerprint}")
def group(
    service: Serving, sight: Seeing, fingerprint: Fingerprint, asked: Annotated[Unmasking, Query()]
) -> DeadLetterGroupDetail:
    """One group and its newest records; payloads are not shown, only their sizes.

    Headers that tell of the failure are; others with `unmasked`, which needs the role and is in the audit.
    """
    if asked.unmasked:
        with service.store.read() as connection:
            dead_letters.group(connection, fingerprint)
    sight.look(asked, fingerprint)
    return detail(service, fingerprint, unmasked=asked.unmasked)


def detail(service: Service, fingerprint: str, *, unmasked: bool = False) -> DeadLetterGroupDetail:
    """One group. Raises ``UnknownGroupError``."""
    waiting = service.waiting.get()
    with service.store.read() as connection:
        row = dead_letters.group(connection, fingerprint)
        samples = dead_letters.samples(connection, fingerprint)
        trend = trends.read(connection, fingerprint, service.now_ms())
        loop = redrives.of_group(connection, row.dlq_topic, fingerprint, service.now_ms())
    return DeadLetterGroupDetail(
        **dict(_group(row, waiting.of(row))),
        redriven=loop.sent,
        parked=waiting.parked.get(fingerprint, 0),
        returned=loop.bounced,
        settled=loop.settled,
        success_rate=loop.success_rate,
        trend=[SeriesPoint(at=instant(hour_s * 1_000), value=records) for hour_s, records in trend],
        samples=[_sample(sample, unmasked=unmasked) for sample in samples],
    )


def _topic(row: TopicRow) -> DeadLetterTopic:
    return DeadLetterTopic(
        kafka_cluster=row.kafka_cluster,
        dlq_topic=row.dlq_topic,
        records=row.records,
        waiting=row.waiting,
        dialects=list(row.dialects),
        source_topics=list(row.source_topics),
        first_seen=instant(row.first_ms),
        last_seen=instant(row.last_ms),
        queue=None if row.queue is None else _queue(row.queue),
    )


def _queue(row: QueueRow) -> DeadLetterQueue:
    return DeadLetterQueue(
        exists=row.partitions > 0,
        backlog_records=row.records,
        oldest_record=instant(row.oldest_at_ms),
        named_by=row.named_by,
        read=row.read,
        to_do=""
        if row.read
        else f"add {row.dlq_topic!r} to dlq_topics, at the top level of the settings file",
    )


def _group(row: GroupRow, waiting: int) -> DeadLetterGroup:
    return DeadLetterGroup(
        fingerprint=row.fingerprint,
        kafka_cluster=row.kafka_cluster,
        dlq_topic=row.dlq_topic,
        dialect=row.dialect,
        source_topic=row.source_topic,
        consumer=row.consumer,
        error_class=row.error_class,
        message=row.message,
        message_pattern=row.message_pattern,
        records=row.records,
        waiting=waiting,
        first_seen=instant(row.first_ms),
        last_seen=instant(row.last_ms),
        owner=row.owner,
        comment=row.comment,
        archived=row.archived,
        archive_reason=row.archive_reason,
        archived_at=instant(row.archived_at_ms),
    )


def _sample(row: SampleRow, *, unmasked: bool) -> Sample:
    return Sample(
        dlq_topic=row.dlq_topic,
        partition=row.partition,
        offset=row.offset,
        timestamp=instant(row.timestamp_ms),
        headers=[_header(name, value, shown=unmasked or is_open(name)) for name, value in row.headers],
        key_bytes=_size(row.key_bytes),
        value_bytes=_size(row.value_bytes),
    )


def _header(name: str, value: str | None, *, shown: bool) -> Header:
    return Header(name=name, value=value if shown else None, masked=not shown and value is not None)


def _size(size: int) -> int | None:
    return None if size < 0 else size
