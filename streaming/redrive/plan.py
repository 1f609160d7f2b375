"""What an order would do, counted from letters without moving any; ``streaming.redrive.scan`` reads them."""

from collections import Counter
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field

from streaming.dialects import SHARE_GROUP
from streaming.filter import Filter
from streaming.letter import Letter
from streaming.redrive.cluster import Extents
from streaming.redrive.decision import park_reason
from streaming.redrive.fetch import Absence
from streaming.redrive.handled import NOTHING, REASONS, Handled
from streaming.redrive.order import Limits, Order
from streaming.redrive.selection import intervals, selects, within
from streaming.redrive.targets import Skip, SkipReason, TargetPlace, TargetRules, target_of

LOCAL_RECORDS_A_SECOND = 20_000
"""What one worker moves at least, of records of some kilobytes."""
SECONDS_OF_AN_HOUR = 3_600
MAX_EXAMPLES = 3
"""Of what goes, and of what stays."""

Destination = TargetPlace | Skip


class Example(BaseModel):
    """One letter and what would become of it."""

    model_config = ConfigDict(frozen=True)

    partition: int
    offset: int
    timestamp_ms: int
    error_class: str
    target_topic: str
    target_partition: int | None
    skip_reason: str


class Plan(BaseModel):
    """What an order would do; with ``at_least`` the reading was cut short: there may be more of all."""

    model_config = ConfigDict(frozen=True)

    to_move: int = 0
    at_least: bool = False
    at_most: int = Field(
        0, description="Of to_move: the number to confirm. More only where at_least is true."
    )
    read: int = 0
    bytes: int = 0
    targets: dict[str, int] = Field({}, description="Records by topic they would go to.")
    to_park: int = Field(
        0, description="Records whose attempts are used up, or whose error class is excluded."
    )
    skip_reasons: dict[str, int] = {}
    rehydrated: int = Field(0, description="Share-group records whose payload is read at their origin.")
    filter_problems: dict[str, int] = Field({}, description="Why the filter could not be evaluated.")
    estimated_ms: int | None = Field(None, description="By the limits, without waits; null: no limit.")
    examples: tuple[Example, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def selected(self) -> int:
        """Records that the order is about."""
        return self.to_move + self.to_park + sum(self.skip_reasons.values())

    @property
    def left_out(self) -> int:
        """Of these, what was moved or parked before."""
        return sum(self.skip_reasons.get(reason, 0) for reason in REASONS.values())


class Tally:
    """Counts letters of an order's topic, one after the other.

    ``origins`` tells what a topic holds, as far as it is known: where share groups' records may be gone.
    ``handled`` is what was done before and is left out.
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
        self._reasons: Counter[str] = Counter()
        self._problems: Counter[str] = Counter()
        self._read = self._bytes = self._parked = self._rehydrated = 0
        self._going: list[Example] = []
        self._staying: list[Example] = []

    def add(self, letter: Letter) -> None:
        """Count one; what the order is not about counts as read only."""
        self._read += 1
        if not within(self._intervals, letter.partition, letter.offset):
            return
        if not selects(self._order, letter, self._matches):
            return
        if self._most is not None and self._targets.total() >= self._most:
            return
        place = self._destination(letter)
        if isinstance(place, Skip):
            self._reasons[place.reason] += 1
            _keep(self._staying, lambda: _example(letter, place))
        elif park_reason(letter.attempts, letter.error_class, self._order.request.retry):
            self._parked += 1
        else:
            self._targets[place.topic] += 1
            self._bytes += letter.size
            self._rehydrated += _without_payload(letter)
            _keep(self._going, lambda: _example(letter, place))

    def plan(self, *, cut: bool, warnings: tuple[str, ...] = ()) -> Plan:
        """What has been counted; ``cut``: not everything was read."""
        return Plan(
            to_move=self._targets.total(),
            at_least=cut,
            at_most=self._at_most() if cut else self._targets.total(),
            read=self._read,
            bytes=self._bytes,
            targets=dict(self._targets.most_common()),
            to_park=self._parked,
            skip_reasons=dict(self._reasons.most_common()),
            rehydrated=self._rehydrated,
            filter_problems=dict(self._problems.most_common(MAX_EXAMPLES)),
            estimated_ms=estimated_ms(self._order.request.limits, self._targets, self._bytes),
            examples=(*self._going, *self._staying),
            warnings=(*warnings, *self._advice(cut=cut)),
        )

    def _advice(self, *, cut: bool) -> tuple[str, ...]:
        """Engine spark, where one process would be at it for long and is not held back by a limit."""
        most = self._at_most() if cut else self._targets.total()
        limits = self._order.request.limits
        at_limits_ms = estimated_ms(limits, self._targets, self._bytes) or 0
        hours = max(most / LOCAL_RECORDS_A_SECOND, at_limits_ms / 1_000) / SECONDS_OF_AN_HOUR
        if hours <= 1 or self._order.request.engine == "spark":
            return ()
        held = " and raise the limits" if at_limits_ms > most * 1_000 / LOCAL_RECORDS_A_SECOND else ""
        return (f'this takes about {hours:.0f} h: say engine "spark"{held}, for several executors move more',)

    def _at_most(self) -> int:
        """Every offset that the order could be about; known before anything is read."""
        offsets = sum(end - first for found in self._intervals.values() for first, end in found)
        return offsets if self._most is None else min(offsets, self._most)

    def _matches(self, letter: Letter) -> bool:
        if self._filter is None:
            return False
        verdict = self._filter.verdict(letter)
        if verdict.problem and (verdict.problem in self._problems or len(self._problems) < MAX_EXAMPLES):
            self._problems[verdict.problem] += 1
        return verdict.matches

    def _destination(self, letter: Letter) -> Destination:
        before = self._handled.reason(letter.partition, letter.offset)
        if before is not None:
            return Skip(before)
        unplaced = not letter.source_topic or letter.source_partition is None or letter.source_offset is None
        if unplaced and _without_payload(letter):
            return Skip(SkipReason.NO_ORIGIN)
        gone = self._gone(letter) if _without_payload(letter) else None
        if gone is not None:
            return Skip(gone, letter.source_topic)
        return target_of(letter, self._order.request.target, self._rules)

    def _gone(self, letter: Letter) -> Absence | None:
        """Why the record cannot be at its origin; None where it may be."""
        held = self._origins(letter.source_topic)
        if held is None:
            return None
        at, offset = letter.source_partition or 0, letter.source_offset or 0
        if at not in held.end or offset >= held.end[at]:
            return Absence.MISSING
        return Absence.EXPIRED if offset < held.begin[at] else None


def estimated_ms(limits: Limits, targets: Counter[str], size: int) -> int | None:
    """How long it takes at the limits; None where there is none."""
    paces = (
        (targets.total(), limits.records_per_second),
        (size, limits.bytes_per_second),
        (max(targets.values(), default=0), limits.per_target_records_per_second),
    )
    return max((round(amount * 1_000 / pace) for amount, pace in paces if pace is not None), default=None)


def _without_payload(letter: Letter) -> bool:
    """A share group's record that has to be read where it was."""
    return letter.dialect == SHARE_GROUP.name and letter.key is None and letter.value is None


def _keep(examples: list[Example], make: Callable[[], Example]) -> None:
    if len(examples) < MAX_EXAMPLES:
        examples.append(make())


def _example(letter: Letter, place: Destination) -> Example:
    return Example(
        partition=letter.partition,
        offset=letter.offset,
        timestamp_ms=letter.timestamp_ms,
        error_class=letter.error_class,
        target_topic=place.topic,
        target_partition=place.partition if isinstance(place, TargetPlace) else None,
        skip_reason=str(place.reason) if isinstance(place, Skip) else "",
    )
