import pytest

from lab.truth import Truth, abandonments, entries, expired_batches, task_timeouts

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


UPDATER, OTHER = (f"state-updater [{client}-StateUpdater-1]" for client in (CLIENT, OTHER_CLIENT))
THREE = hit("12:35:35,074", UPDATER, "1_1") + summary("12:35:35,202", "1_1")
THREE += hit("12:35:35,203", f"stream-client [{CLIENT}]", "1_1")
FIRST = hit("12:35:35,074", UPDATER, "1_1")
BATCH = expiry("12:35:26,892", 3, "streams-wordcount-output-0")

LOGS: dict[str, tuple[str, int, list[int]]] = {
    "nothing": ("", 0, []),
    "neither": ("[2026-11-21 12:35:35,074] INFO all is well (o.a.k.Streams:1)\n", 0, []),
    "a stack trace that repeats its message": (FIRST, 1, []),
    "a timeout at level INFO": (hit("12:35:35,074", UPDATER, "1_1", level="INFO"), 1, []),
    "one timeout in three entries": (THREE, 1, []),
    "one entry that names two tasks": (summary("12:35:35,202", "1_1", "1_0"), 2, []),
    "two tasks with the same ms": (FIRST + hit("12:35:37,076", UPDATER, "1_0"), 2, []),
    "two clients with the same task": (FIRST + hit("12:35:35,100", OTHER, "1_1"), 2, []),
    "the same ten seconds later": (FIRST + hit("12:35:45,074", UPDATER, "1_1"), 1, []),
    "the same in a later stall": (FIRST + hit("12:35:45,075", UPDATER, "1_1"), 2, []),
    "the same task with other ms": (FIRST + hit("12:35:39,074", UPDATER, "1_1", 4005), 2, []),
    "an expired batch, twice in its entry": (BATCH, 0, [3]),
    "one batch that two tasks write": (BATCH + BATCH.replace(",892", ",893"), 0, [3]),
    "two batches that look alike": (BATCH + BATCH.replace(",892", ",992"), 0, [3, 3]),
    "dashes and dots in a topic": (expiry("12:35:26,892", 7, "a-b.c-changelog-12"), 0, [7]),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_holds(name: str) -> None:
    log, timeouts, expired = LOGS[name]
    assert len(task_timeouts(log)) == timeouts
    assert [records for _, records in expired_batches(log)] == expired


def test_what_happened_has_the_time_of_the_entry_that_says_so_first() -> None:
    abandoned = "[2026-11-21 12:35:26,992] ERROR Graceful stop of task pipe-0 failed.\n"
    log = BATCH + abandoned + THREE
    began_ms = expired_batches(log)[0][0]
    assert [at_ms - began_ms for at_ms in (*abandonments(log), *task_timeouts(log))] == [100, 8_182]


def test_an_entry_reaches_to_the_next_timestamp_at_the_start_of_a_line() -> None:
    first = "[2026-11-21 12:00:00,000] INFO a\n\tat [2026-11-21 12:00:00,001] b\n"
    log = f"no entry\n{first}[2026-11-21 12:00:01,000] INFO c\n"
    assert [entry.text.count("\n") for entry in entries(log)] == [2, 1]


def test_the_difference_of_two_truths_is_what_happened_in_between() -> None:
    before = Truth(abandoned_tasks_current=2, abandoned_tasks_total=2, share_dead_letters=10)
    after = Truth(abandoned_tasks_current=0, abandoned_tasks_total=3, share_dead_letters=15, task_timeouts=2)
    assert after - before == Truth(-2, 1, 5, 0, 2)
