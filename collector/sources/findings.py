"""What will go wrong, said before it does: findings, by what they are judged of.

An area is the unit that is judged as a whole: a share group, a Connect cluster, a topic … An area that exists
and cannot be judged now keeps what was told of it; one that is gone has no findings.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Final

from collector.contract.events import MAX_TEXT_CHARS, Finding
from collector.contract.findings import MAX_FINDINGS
from collector.sources import findings_connect, findings_share, findings_topics
from collector.sources.findings_picture import Picture

MAX_BYTES: Final = 500_000
"""How large the findings of one event may be as JSON: half of what a broker takes by default."""

SHARE_GROUP: Final = "sharegroup:"

Told = Mapping[str, tuple[Finding, ...]]
"""Findings by area."""


def findings(picture: Picture, told: Told) -> Told:
    """Everything that holds now; ``told`` is what held before."""
    judged = dict(_judged(picture))
    if picture.queues is None:
        groups = [area for area in told if area.startswith(SHARE_GROUP)]
        judged |= dict.fromkeys(groups)
    return {
        area: told.get(area, ()) if found is None else tuple(map(_clipped, found))
        for area, found in judged.items()
    }


def _judged(picture: Picture) -> Iterator[tuple[str, tuple[Finding, ...] | None]]:
    yield "cluster", findings_share.of_cluster(picture)
    yield "rejections", findings_share.of_rejections(picture)
    for group, queue in (picture.queues or {}).items():
        yield f"{SHARE_GROUP}{group}", findings_share.of_group(group, queue, picture)
    for cluster, connectors in picture.connectors.items():
        yield cluster, findings_connect.of_connectors(cluster, connectors, picture)
    for name in picture.named:
        yield f"reading:{name}", findings_topics.of_reading(name, picture)
    for name, topic in picture.topics.items():
        yield f"topic:{name}", findings_topics.of_topic(name, topic, picture)


def bounded(told: Told) -> tuple[tuple[Finding, ...], int]:
    """The findings of one event, ordered, each (kind, subject) once; and how many were left out."""
    by_key = {(one.kind, one.subject): one for found in told.values() for one in found}
    every = [by_key[key] for key in sorted(by_key)]
    kept = tuple(_fitting(every[:MAX_FINDINGS]))
    return kept, len(every) - len(kept)


def _fitting(every: Iterable[Finding]) -> Iterator[Finding]:
    size = 0
    for one in every:
        size += len(json.dumps(asdict(one), ensure_ascii=False).encode())
        if size > MAX_BYTES:
            return
        yield one


def _clipped(one: Finding) -> Finding:
    return Finding(**{name: text[:MAX_TEXT_CHARS] for name, text in asdict(one).items()})


def saved(told: Told) -> dict[str, list[dict[str, str]]]:
    """As JSON has it, of the first areas: as much as one event holds."""
    kept: dict[str, list[dict[str, str]]] = {}
    room = MAX_FINDINGS
    for area, found in told.items():
        room -= len(found)
        if found and room >= 0:
            kept[area] = [asdict(one) for one in found]
    return kept


def restored(state: Mapping[str, Iterable[Mapping[str, str]]]) -> Told:
    """What ``saved`` made."""
    return {area: tuple(Finding(**one) for one in found) for area, found in state.items()}
