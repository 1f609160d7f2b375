"""A few dead letters of a batch, summed up here: to plan that for Spark takes longer than to do it.

What comes out is what ``dead_letters``, ``samples`` and ``redrives`` make of the same records in Spark.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from pyspark.sql import Row

from collector.contract import headers as names
from collector.contract.fingerprint import message_pattern
from streaming import trace
from streaming.aggregates import redrives
from streaming.aggregates.dead_letters import Facts, Group, Key, Traced, group_of
from streaming.aggregates.samples import (
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_KEY_BYTES,
    MAX_SAMPLES,
    MAX_VALUE_BYTES,
    Place,
)
from streaming.aggregates.ticks import tick_at_ms
from streaming.dialects import SHARE_GROUP, reading
from streaming.letter import OURS, Letter, letter_of, text_of
from streaming.store.batch import Origins, Sample

MAX_TOLD_BYTES: Final = 8_192
"""Headers are cut there; one that says something, and is longer, is for Spark to read."""
TOO_LARGE: Final = "is_too_large"
"""The column of what Spark must read: it has too many bytes of headers, or a long one that says something."""

_TRACEPARENT: Final = re.compile(trace.FORM)


class Found(NamedTuple):
    """A dead letter of which key, value and headers are cut, and the lengths that they had (-1: null)."""

    letter: Letter
    key_bytes: int
    value_bytes: int

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.letter.topic, self.letter.partition, self.letter.offset)

    @property
    def newest(self) -> tuple[int, int, int]:
        """What is greatest for the newest."""
        return self.letter.timestamp_ms, self.letter.partition, self.letter.offset


def columns(share: int) -> dict[str, str]:
    """What is fetched of a dead letter besides its place, in SQL; ``share`` bytes of headers at most.

    Nearly all have few bytes of headers: of these nothing more is asked than how many.
    """
    told = {name for dialect in reading().dialects for name in dialect.headers} | OURS | {trace.HEADER}
    names_told = ", ".join(f"'{_escaped(name)}'" for name in sorted(told))
    long = f"exists(headers, one -> octet_length(one.value) > {MAX_TOLD_BYTES} AND one.key IN ({names_told}))"
    few = f"{_length('one.value')} <= {min(share, MAX_TOLD_BYTES)}"
    cut = f"substring(one.value, 1, {MAX_TOLD_BYTES})"
    large = f"({long} OR {_length(cut)} > {share})"
    cut_headers = f"transform(headers, one -> named_struct('key', one.key, 'value', {cut}))"
    return {
        "key": f"substring(key, 1, {MAX_KEY_BYTES})",
        "letter": f"substring(value, 1, {MAX_VALUE_BYTES})",
        "key_bytes": "coalesce(octet_length(key), -1)",
        "letter_bytes": "coalesce(octet_length(value), -1)",
        "headers": f"CASE WHEN {few} THEN headers WHEN {large} THEN NULL ELSE {cut_headers} END",
        TOO_LARGE: f"NOT {few} AND {large}",
    }


def _length(value: str) -> str:
    """Bytes of all headers, in SQL."""
    return (
        "aggregate(headers, 0L,"
        f" (sum, one) -> sum + octet_length(one.key) + coalesce(octet_length({value}), 0))"
    )


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


class FewLetters:
    """Dead letters that have been fetched."""

    def __init__(self, found: Iterable[Mapping[str, Any]], now_ms: int) -> None:
        self._found = [_found(one) for one in found]
        self._now_ms = now_ms

    def groups(self, kafka_cluster: str, *, samples_per_group: int, max_groups: int) -> list[Group]:
        """The largest groups."""
        found = defaultdict[Key, list[Found]](list)
        for one in self._found:
            found[_key(one.letter)].append(one)
        largest = sorted(found.items(), key=lambda group: (-len(group[1]), group[0].fingerprint))
        return [
            group_of(self._facts(*group, samples_per_group), kafka_cluster, samples_per_group)
            for group in largest[:max_groups]
        ]

    def samples(self, fingerprints: Mapping[Place, str]) -> tuple[Sample, ...]:
        """The records at these places, with the fingerprints of their groups."""
        wanted = set(islice(fingerprints, MAX_SAMPLES))
        return tuple(_sample(one, fingerprints[one.place]) for one in self._found if one.place in wanted)

    def came_back(self) -> list[Row]:
        """The topics and orders that most came back to."""
        found = defaultdict[tuple[str, ...], list[int]](list)
        for letter in (one.letter for one in self._found if _is_redriven(one.letter)):
            sent_from = text_of(dict(letter.headers).get(names.REDRIVE_GROUP))
            found[letter.topic, letter.source_topic, letter.cause.order, sent_from].append(
                letter.timestamp_ms
            )
        rows = [
            Row(
                **dict(zip(redrives.KEYS, key, strict=True)), count=len(at), first_ms=min(at), last_ms=max(at)
            )
            for key, at in sorted(found.items(), key=lambda group: (-len(group[1]), group[0]))
        ]
        return rows[: redrives.MAX_ROWS]

    def origins(self, kafka_cluster: str) -> tuple[Origins, ...]:
        """Where the records of share groups' dead letters were, of those that have no headers of ours."""
        found = defaultdict[tuple[str, str, str, int], set[int]](set)
        for letter in (one.letter for one in self._found if not _is_redriven(one.letter)):
            partition, offset = letter.cause.source_partition, letter.source_offset
            if letter.dialect == SHARE_GROUP.name and partition is not None and offset is not None:
                found[letter.topic, letter.fingerprint, letter.source_topic, partition].add(offset)
        return tuple(Origins(kafka_cluster, *key, tuple(offsets)) for key, offsets in found.items())

    def _facts(self, key: Key, group: Sequence[Found], samples: int) -> Facts:
        newest = sorted(group, key=lambda one: one.newest, reverse=True)
        traced = (
            Traced(one.letter.timestamp_ms, told) for one in newest if (told := _traceparent(one.letter))
        )
        ticks = defaultdict[int, list[int]](list)
        for one in group:
            at_ms = one.letter.timestamp_ms
            ticks[tick_at_ms(at_ms, self._now_ms)].append(at_ms)
        return Facts(
            key=key,
            records=len(group),
            broken=sum(one.letter.broken for one in group),
            first_ms=newest[-1].letter.timestamp_ms,
            last_ms=newest[0].letter.timestamp_ms,
            message=newest[0].letter.message,
            newest=[one.place for one in newest[: max(samples, 1)]],
            traced=next(traced, None),
            buckets={max(at): len(at) for at in ticks.values()},
        )


def _found(fetched: Mapping[str, Any]) -> Found:
    letter = letter_of(
        fetched["topic"],
        fetched["at_partition"],
        fetched["at_offset"],
        fetched["at_ms"],
        fetched["key"],
        fetched["letter"],
        [(header["key"], header["value"]) for header in fetched["headers"] or ()],
    )
    return Found(letter, fetched["key_bytes"], fetched["letter_bytes"])


def _key(letter: Letter) -> Key:
    return Key(
        letter.topic,
        letter.fingerprint,
        letter.dialect,
        letter.source_topic,
        letter.consumergroup,
        letter.connector,
        letter.consumer,
        letter.error_class,
        message_pattern(letter.message),
    )


def _sample(one: Found, fingerprint: str) -> Sample:
    letter = one.letter
    headers = letter.headers[:MAX_HEADERS]
    return Sample(
        fingerprint=fingerprint,
        dlq_topic=letter.topic,
        partition=letter.partition,
        offset=letter.offset,
        timestamp_ms=letter.timestamp_ms,
        headers=tuple((name, value and value[:MAX_HEADER_BYTES]) for name, value in headers),
        key=letter.key,
        value=letter.value,
        key_bytes=one.key_bytes,
        value_bytes=one.value_bytes,
    )


def _is_redriven(letter: Letter) -> bool:
    """As ``streaming.decode.REDRIVEN_RECORD`` has it."""
    told = {name for name, _ in letter.headers}
    return names.REDRIVE_ID in told and names.REDRIVE_PARKED_REASON not in told


def _traceparent(letter: Letter) -> str:
    """The header, empty where it is none."""
    told = letter.headers[::-1] if reading().first_counts else letter.headers
    text = text_of(dict(told).get(trace.HEADER))
    return text if _TRACEPARENT.search(text) else ""
