from dataclasses import dataclass

import pytest

from lab.truth import Expired, Truth, count_expired, count_task_timeouts, entries

CLIENT = "wordcount-7f99e2d8-5383-481a-8dd1-773528d54f71"
OTHER_CLIENT = "wordcount-00000000-5383-481a-8dd1-773528d54f71"


TIMED_OUT = "org.apache.kafka.common.errors.TimeoutException"


def hit(time: str, source: str, task: str, elapsed_ms: int = 4004, level: str = "ERROR") -> str:
    """An entry with its stack trace, as Streams writes it: the message stands in it twice."""
    message = f"{TIMED_OUT}: Task {task} did not make progress within {elapsed_ms} ms"
    return (
        f"[2026-11-21 {time}] {level} {source} Encountered streams exception:  (DefaultStateUpdater:374)\n"
        f"org.apache.kafka.streams.errors.StreamsException: {message}\n"
        "\tat org.apache.kafka.streams.processor.internals.AbstractTask.maybeInit(AbstractTask.java:169)\n"
        f"Caused by: {message}\n"
        f"Caused by: {TIMED_OUT}: Timeout of 2000ms expired before successfully committing offsets\n"
    )


def summary(time: str, *tasks: str) -> str:
    """The entry of the stream thread, which names several tasks in its first line."""
    causes = ", ".join(
        f"{task}={TIMED_OUT}: Task {task} did not make progress within 4004 ms" for task in tasks
    )
    source = f"stream-thread [{CLIENT}-StreamThread-1]"
    return f"[2026-11-21 {time}] ERROR {source} Get exceptions for the following tasks: {{{causes}}}\n"


def expiry(time: str, records: int, partition: str) -> str:
    """The message of this entry has several lines; the stack trace repeats the second."""
    line = f"TimeoutException: Expiring {records} record(s) for {partition}:3001 ms has passed since\n"
    source = f"stream-thread [{CLIENT}-StreamThread-1]"
    return (
        f"[2026-11-21 {time}] ERROR {source} Error encountered sending record for task 1_0 due to:\n"
        f"{line}Consider overwriting `delivery.timeout.ms` (RecordCollectorImpl:544)\n{line}"
    )


UPDATER = f"state-updater [{CLIENT}-StateUpdater-1]"
THE_CLIENT = f"stream-client [{CLIENT}]"
NOTHING = Expired(0, 0)


@dataclass(frozen=True)
class Case:
    name: str
    log: str
    timeouts: int = 0
    expired: Expired = NOTHING


CASES = [
    Case("an empty log", ""),
    Case("an entry that tells of neither", "[2026-11-21 12:35:35,074] INFO all is well (o.a.k.Streams:1)\n"),
    Case("a stack trace repeats its message", hit("12:35:35,074", UPDATER, "1_1"), timeouts=1),
    Case("at level INFO", hit("12:35:35,074", UPDATER, "1_1", level="INFO"), timeouts=1),
    Case(
        "one timeout in three entries",
        hit("12:35:35,074", UPDATER, "1_1")
        + summary("12:35:35,202", "1_1")
        + hit("12:35:35,203", THE_CLIENT, "1_1"),
        timeouts=1,
    ),
    Case("one entry that names two tasks", summary("12:35:35,202", "1_1", "1_0"), timeouts=2),
    Case(
        "two tasks with the same milliseconds",
        hit("12:35:35,074", UPDATER, "1_1") + hit("12:35:37,076", UPDATER, "1_0"),
        timeouts=2,
    ),
    Case(
        "two clients with the same task and milliseconds",
        hit("12:35:35,074", UPDATER, "1_1")
        + hit("12:35:35,100", UPDATER.replace(CLIENT, OTHER_CLIENT), "1_1"),
        timeouts=2,
    ),
    Case(
        "the same task and milliseconds ten seconds later",
        hit("12:35:35,074", UPDATER, "1_1") + hit("12:35:45,074", UPDATER, "1_1"),
        timeouts=1,
    ),
    Case(
        "the same task and milliseconds in a later stall",
        hit("12:35:35,074", UPDATER, "1_1") + hit("12:35:45,075", UPDATER, "1_1"),
        timeouts=2,
    ),
    Case(
        "the same task with other milliseconds",
        hit("12:35:35,074", UPDATER, "1_1") + hit("12:35:39,074", UPDATER, "1_1", 4005),
        timeouts=2,
    ),
    Case(
        "two tasks whose records were in one batch both write it",
        expiry("12:35:26,892", 3, "output-0") + expiry("12:35:26,893", 3, "output-0"),
        expired=Expired(1, 3),
    ),
    Case(
        "an expired batch is written twice in its entry",
        expiry("12:35:26,892", 3, "streams-wordcount-output-0"),
        expired=Expired(1, 3),
    ),
    Case(
        "batches in two entries may look alike",
        expiry("12:35:26,892", 3, "streams-wordcount-output-0")
        + expiry("12:35:26,992", 3, "streams-wordcount-output-0"),
        expired=Expired(2, 6),
    ),
    Case(
        "a topic with dashes and dots in its name",
        expiry("12:35:26,892", 7, "a-b.c-changelog-12"),
        expired=Expired(1, 7),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_log_holds(case: Case) -> None:
    assert count_task_timeouts(case.log) == case.timeouts
    assert count_expired(case.log) == case.expired


def test_an_entry_reaches_to_the_next_timestamp_at_the_start_of_a_line() -> None:
    first = "[2026-11-21 12:00:00,000] INFO a\n\tat [2026-11-21 12:00:00,001] b\n"
    log = f"no entry\n{first}[2026-11-21 12:00:01,000] INFO c\n"
    assert [entry.text.count("\n") for entry in entries(log)] == [2, 1]


def test_the_difference_of_two_truths_is_what_happened_in_between() -> None:
    before = Truth(abandoned_tasks_current=2, abandoned_tasks_total=2, share_dead_letters=10)
    after = Truth(abandoned_tasks_current=0, abandoned_tasks_total=3, share_dead_letters=15, task_timeouts=2)
    assert after - before == Truth(-2, 1, 5, 0, 2)
