"""What the demo expects to see: the lab's own truth on one side, ``/metrics`` on the other."""

from collections.abc import Iterable, Mapping, Sequence

from deadwatch.demo_last_act import Redriven
from deadwatch.demo_latency import Latencies, latencies
from deadwatch.demo_table import Row
from deadwatch.demo_watch import Signal, Watch
from lab import Truth

TITLES: Mapping[Signal, str] = {
    Signal.ABANDONED_NOW: "abandoned tasks, now",
    Signal.ABANDONED_TOTAL: "abandoned tasks, in all",
    Signal.SHARE_DEAD_LETTERS: "dead letters of a share group",
    Signal.SHARE_METERS: "the same by the broker's own bean",
    Signal.CONNECT_DEAD_LETTERS: "dead letters of Connect",
    Signal.ALL_DEAD_LETTERS: "dead letters of every dialect",
    Signal.TASK_TIMEOUTS: "task timeouts",
    Signal.EXPIRED_BATCHES: "expired batches",
    Signal.EXPIRED_RECORDS: "expired records",
    Signal.QUARANTINED: "input that was not understood",
    Signal.REDRIVES: "redrives completed",
    Signal.SENT: "dead letters put back",
    Signal.BOUNCED: "of these, dead again",
    Signal.PARKED: "of these, parked",
}


def expected(truth: Truth, redriven: Redriven) -> Mapping[Signal, str | None]:
    """What has to be seen; None for what has not happened although it will."""
    happened = {
        Signal.ABANDONED_TOTAL: truth.abandoned_tasks_total,
        Signal.SHARE_DEAD_LETTERS: truth.share_dead_letters,
        Signal.SHARE_METERS: truth.share_dead_letters,
        Signal.CONNECT_DEAD_LETTERS: truth.connect_dead_letters,
        Signal.ALL_DEAD_LETTERS: truth.share_dead_letters + truth.connect_dead_letters,
        Signal.TASK_TIMEOUTS: truth.task_timeouts,
        Signal.EXPIRED_BATCHES: truth.expired_batches,
        Signal.EXPIRED_RECORDS: truth.expired_records,
        Signal.REDRIVES: redriven.orders,
        Signal.SENT: truth.share_accepted + truth.connect_returned,
        Signal.BOUNCED: truth.connect_returned,
        Signal.PARKED: redriven.parked,
    }
    return {
        Signal.ABANDONED_NOW: _abandoned_trail(truth),
        Signal.QUARANTINED: "0",
        **{signal: str(count) if count else None for signal, count in happened.items()},
    }


def rows(
    truth: Truth,
    redriven: Redriven,
    watch: Watch,
    happened: Mapping[Signal, Sequence[int]] | None = None,
) -> list[Row]:
    """The table; with the times at which everything happened it tells how long each took."""
    wanted = expected(truth, redriven)
    times = happened or {}
    return [
        Row(title, wanted[signal], seen(watch, signal), delays(watch, signal, times.get(signal, ())))
        for signal, title in TITLES.items()
    ]


def seen(watch: Watch, signal: Signal) -> str:
    """The figure; of what comes and goes, every value it has had."""
    if signal is Signal.ABANDONED_NOW:
        return trail(value for _, value in watch.changes[signal]) or "0"
    return str(watch.value(signal))


def delays(watch: Watch, signal: Signal, happened_ms: Sequence[int]) -> Latencies:
    """How long the occurrences of a signal took."""
    return latencies(happened_ms, watch.changes[signal], watch.stalls)


def trail(values: Iterable[int]) -> str:
    """Values in the order in which they were seen."""
    return ", then ".join(map(str, values))


def _abandoned_trail(truth: Truth) -> str | None:
    """One was abandoned; once it is released, none."""
    if truth.abandoned_tasks_total == 0:
        return None
    return trail([truth.abandoned_tasks_total, *([0] if truth.abandoned_tasks_current == 0 else [])])
