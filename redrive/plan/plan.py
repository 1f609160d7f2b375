"""What an order would do, counted from dead letters without moving any."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from pydantic import BaseModel, Field

from deadwatch.deadletter.dialects import SHARE_GROUP
from deadwatch.deadletter.dropped import HeaderRule
from deadwatch.deadletter.filter import Filter
from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.decision import park_reason
from deadwatch.orders.handled import NOTHING, REASONS, Handled
from deadwatch.orders.order import Limits, Order
from deadwatch.orders.reasons import SkipReason
from deadwatch.orders.selection import Extents, intervals, selects, within
from deadwatch.orders.targets import Skip, TargetPlace, TargetRules, target_of
from deadwatch.runtime.clock import HOUR_S
from redrive.move.rewrite import NOWHERE, origin_of

LOCAL_RECORDS_PER_SECOND: Final = 20_000
"""One worker moves at least this, of records of some kilobytes."""
MAX_EXAMPLES: Final = 3
"""So many examples of what goes, and as many of what stays."""

MAX_NAMES: Final = 100
"""So many names of headers that go."""


class Example(BaseModel, frozen=True):
    """One dead letter and what would become of it."""

    partition: int
    offset: int
    timestamp_ms: int
    error_class: str
    target_topic: str
    target_partition: int | None
    skip_reason: str


class Plan(BaseModel, frozen=True):
    """What an order would do; with ``at_least`` the scan was cut short: there may be more of everything."""

    to_move: int = 0
    at_least: bool = False
    at_most: int = Field(
        0, description="To move or to park: the number to confirm. More only where at_least is true."
    )
    read: int = 0
    bytes: int = 0
    targets: dict[str, int] = Field({}, description="Records by topic they would go to.")
    to_park: int = Field(
        0, description="Records whose attempts are used up, or whose error class is excluded."
    )
    park_reasons: dict[str, int] = Field({}, description="Of to_park; older plans have none.")
    skip_reasons: dict[str, int] = {}
    rehydrated: int = Field(
        0, description="Share-group records of to_move whose payload and attempts are read at their origin."
    )
    dropped_headers: dict[str, int] = Field({}, description="Headers that go, by name: of how many records.")
    filter_problems: dict[str, int] = Field({}, description="Why the filter could not be evaluated.")
    estimated_ms: int | None = Field(None, description="By the limits, without waits; null: no limit.")
    examples: tuple[Example, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def selected(self) -> int:
        """How many records the order is about."""
        return self.to_move + self.to_park + sum(self.skip_reasons.values())

    @property
    def left_out(self) -> int:
        """How many of these were moved or parked before."""
        return sum(self.skip_reasons.get(reason, 0) for reason in REASONS.values())


class PlanBuilder:
    """Counts the dead letters of an order's topic.

    ``origins`` gives the offsets that a topic holds, None where they are not known: a share group's record
    may be gone from its origin. ``handled`` is what earlier orders have done, which is left out.
    """

    def __init__(
        self,
        order: Order,
        rules: TargetRules,
        matcher: Filter | None,
        origins: Callable[[str], Extents | None] = lambda _: None,
        handled: Handled = NOTHING,
    ) -> None:
        self._origins, self._handled = origins, handled
        self._order, self._rules, self._filter = order, rules, matcher
        self._intervals = intervals(order)
        self._most = order.request.limits.max_records
        self._targets: Counter[str] = Counter()
        self._parked: Counter[str] = Counter()
        self._hopeless = 0
        """To be parked, with those behind ``max_records``: in which order records are read is not sure."""
        self._reasons: Counter[str] = Counter()
        self._problems: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._rule = HeaderRule(order.request.drop_headers)
        self._read = self._bytes = self._rehydrated = 0
        self._going: list[Example] = []
        self._staying: list[Example] = []

    def add(self, dead_letter: DeadLetter) -> None:
        """Count one dead letter; one that the order is not about counts as read only."""
        self._read += 1
        if not within(self._intervals, dead_letter.partition, dead_letter.offset):
            return
        if not selects(self._order, dead_letter, self._matches):
            return
        place, retry = self._destination(dead_letter), self._order.request.retry
        classes = (dead_letter.error_class, dead_letter.wrapper)
        hopeless = None if isinstance(place, Skip) else park_reason(dead_letter.attempts, classes, retry)
        self._hopeless += hopeless is not None
        if self._most is not None and self._targets.total() >= self._most:
            return
        if isinstance(place, Skip):
            self._reasons[place.reason] += 1
            _keep(self._staying, dead_letter, place)
        elif hopeless is not None:
            self._parked[hopeless] += 1
        else:
            self._targets[place.topic] += 1
            self._bytes += dead_letter.size
            self._rehydrated += _without_payload(dead_letter)
            self._dropped.update(self._rule.dropped(dead_letter.dialect, dead_letter.headers))
            _keep(self._going, dead_letter, place)

    def plan(self, *, cut: bool, warnings: tuple[str, ...] = ()) -> Plan:
        """The plan as counted so far; ``cut``: not everything was read."""
        most = self._targets.total() + self._hopeless
        if cut:  # so many offsets the order could be about
            most = sum(end - first for found in self._intervals.values() for first, end in found)
            most = most if self._most is None else min(most, self._most)
        return Plan(
            to_move=self._targets.total(),
            at_least=cut,
            at_most=most,
            read=self._read,
            bytes=self._bytes,
            targets=dict(self._targets.most_common()),
            to_park=self._parked.total(),
            park_reasons=dict(self._parked.most_common()),
            skip_reasons=dict(self._reasons.most_common()),
            rehydrated=self._rehydrated,
            dropped_headers=dict(self._dropped.most_common(MAX_NAMES)),
            filter_problems=dict(self._problems.most_common(MAX_EXAMPLES)),
            estimated_ms=estimated_ms(self._order.request.limits, self._targets, self._bytes),
            examples=(*self._going, *self._staying),
            warnings=(*warnings, *self._advice(most)),
        )

    def _advice(self, most: int) -> tuple[str, ...]:
        """Suggests the engine spark where one worker would take more than an hour."""
        limits = self._order.request.limits
        at_limits_ms = estimated_ms(limits, self._targets, self._bytes) or 0
        hours = max(most / LOCAL_RECORDS_PER_SECOND, at_limits_ms / 1_000) / HOUR_S
        if hours <= 1 or self._order.request.engine == "spark":
            return ()
        held = " and raise the limits" if at_limits_ms > most * 1_000 / LOCAL_RECORDS_PER_SECOND else ""
        return (f'this takes about {hours:.0f} h: say engine "spark"{held}, for several executors move more',)

    def _matches(self, dead_letter: DeadLetter) -> bool:
        if self._filter is None:
            return False
        verdict = self._filter.verdict(dead_letter)
        if verdict.problem and (verdict.problem in self._problems or len(self._problems) < MAX_EXAMPLES):
            self._problems[verdict.problem] += 1
        return verdict.matches

    def _destination(self, dead_letter: DeadLetter) -> TargetPlace | Skip:
        before = self._handled.reason(dead_letter.partition, dead_letter.offset)
        if before is not None:
            return Skip(before)
        if origin_of(dead_letter) == NOWHERE and _without_payload(dead_letter):
            return Skip(SkipReason.NO_ORIGIN)
        gone = self._gone(dead_letter)
        if gone is not None:
            return Skip(gone, dead_letter.source_topic)
        return target_of(dead_letter, self._order.request.target, self._rules)

    def _gone(self, dead_letter: DeadLetter) -> SkipReason | None:
        """Why a record that has to be read at its origin cannot be there; None where it may be."""
        held = self._origins(dead_letter.source_topic) if _without_payload(dead_letter) else None
        if held is None:
            return None
        at, offset = dead_letter.source_partition or 0, dead_letter.source_offset or 0
        if at not in held.end or offset >= held.end[at]:
            return SkipReason.ORIGIN_MISSING
        return SkipReason.PAYLOAD_EXPIRED if offset < held.begin[at] else None


def estimated_ms(limits: Limits, targets: Counter[str], size: int) -> int | None:
    """How long an order takes at its limits; None where there is no limit."""
    paces = (
        (targets.total(), limits.records_per_second),
        (size, limits.bytes_per_second),
        (max(targets.values(), default=0), limits.per_target_records_per_second),
    )
    return max((round(amount * 1_000 / pace) for amount, pace in paces if pace is not None), default=None)


def _without_payload(dead_letter: DeadLetter) -> bool:
    """Whether it is a share group's, whose record has to be read at its origin."""
    return dead_letter.dialect == SHARE_GROUP.name and dead_letter.key is None and dead_letter.value is None


def _keep(examples: list[Example], dead_letter: DeadLetter, place: TargetPlace | Skip) -> None:
    if len(examples) >= MAX_EXAMPLES:
        return
    example = Example(
        partition=dead_letter.partition,
        offset=dead_letter.offset,
        timestamp_ms=dead_letter.timestamp_ms,
        error_class=dead_letter.error_class,
        target_topic=place.topic,
        target_partition=place.partition if isinstance(place, TargetPlace) else None,
        skip_reason=str(place.reason) if isinstance(place, Skip) else "",
    )
    examples.append(example)
