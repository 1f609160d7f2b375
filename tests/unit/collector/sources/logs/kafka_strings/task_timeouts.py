"""What Kafka Streams says of tasks that make no progress, and of threads that die of it (KIP-572).

This module is a table: its length is the number of strings.
"""

from functools import partial
from typing import Final

from tests.unit.collector.sources.logs.kafka_strings.string import AT, Facts, String

_string = partial(String, "task timeouts")

APP: Final = "wordcount-7f99e2d8-5383-481a-8dd1-773528d54f71"
THREAD: Final = f"stream-thread [{APP}-StreamThread-1]"
GLOBAL: Final = f"global-stream-thread [{APP}-GlobalStreamThread]"
CLIENT: Final = f"stream-client [{APP}]"


def _starts(
    name: str, message: str, *tasks: str, call: str = "", prefix: str = THREAD, level: str = "WARN"
) -> String:
    """``call`` is the name of the string where it is not given."""
    started = tuple(
        {"kind": "task_timer_started", "application": "wordcount", "task": task, "call": call or name}
        for task in tasks or ("",)
    )
    return _string(name, f"{AT} {level} {prefix} {message}", started)


def _ends(name: str, message: str, task: str, reason: str, prefix: str = THREAD) -> String:
    ended = {"kind": "task_timer_ended", "application": "wordcount", "task": task, "reason": reason}
    return _string(name, f"{AT} INFO {prefix} {message}", (ended,))


def _dies(name: str, message: str, decision: str, *more: Facts) -> String:
    died = {"kind": "stream_thread_died", "application": "wordcount", "decision": decision}
    return _string(name, f"{AT} ERROR {CLIENT} {message}", (died, *more))


TASK_TIMEOUTS: Final = (
    _string(
        "a task that made no progress",
        f"{AT} ERROR {THREAD} it failed\no.TimeoutException: Task 0_1 did not make progress within 300123 ms."
        " Adjust `task.timeout.ms` if needed.",
        ({"kind": "task_timeout", "application": "wordcount", "task": "0_1", "elapsed_ms": 300123},),
    ),
    _string(
        "a task that may not retry: on its second failure, a few ms later",
        f"{AT} ERROR {THREAD} it failed\no.TimeoutException: Task 0_1 did not make progress within 4 ms."
        " Adjust `task.timeout.ms` if needed.\nCaused by: o.TimeoutException: Task 0_1 did not make"
        " progress within 4 ms. Adjust `task.timeout.ms` if needed.",
        ({"kind": "task_timeout", "task": "0_1", "elapsed_ms": 4},),
    ),
    _string(
        "the global thread",
        f"{AT} ERROR {GLOBAL} it failed\no.TimeoutException: Global task did not make progress to restore"
        " state within 310000 ms. Adjust `task.timeout.ms` if needed.",
        ({"kind": "task_timeout", "application": "wordcount", "task": "global", "elapsed_ms": 310000},),
    ),
    _string(
        "the global thread that may not retry, told by thread and client",
        f"{AT} ERROR {GLOBAL} Exception caught during initialization of"
        " GlobalStreamThread\no.StreamsException: Retrying is disabled. You can enable it by setting"
        f" `task.timeout.ms` to a value larger than zero.\n{AT} ERROR {CLIENT} it"
        " failed\no.StreamsException: Retrying is disabled. You can enable it by setting `task.timeout.ms`"
        " to a value larger than zero.\nCaused by: o.TimeoutException: no word of it",
        ({"kind": "task_timeout", "application": "wordcount", "task": "global", "elapsed_ms": 0},),
    ),
    _starts(
        "process",
        "Could not complete processing records for 0_1 due to the following exception; will move to next"
        " task and retry later (o.TaskExecutor:107)",
        "0_1",
        level="ERROR",
    ),
    _starts("commit", "Committing task(s) 1_1, 0_1, 1_0 failed. (o.T:214)", "1_1", "0_1", "1_0"),
    _starts(
        "init",
        "Encountered timeout exception. Reattempting initialization in the next iteration. Error"
        " message was: x",
        level="INFO",
    ),
    _starts(
        "restore",
        "Could not complete restoration for 0_1 due to the following exception; adding the task back to the"
        " state updater and will retry",
        "0_1",
        level="DEBUG",
    ),
    _starts(
        "restore, before the state updater",
        "Could not complete restoration for a__0_1 due to the following exception; will retry",
        "a__0_1",
        call="restore",
        level="DEBUG",
    ),
    _starts(
        "committed offsets",
        "Encountered org.apache.kafka.common.errors.TimeoutException: Timeout of 2000ms expired before the"
        " last committed offset for partitions [a-0] could be determined. Try tuning"
        " `default.api.timeout.ms` larger to relax the threshold. while trying to fetch committed offsets,"
        " will retry initializing the metadata in the next loop.\nConsider overwriting",
        "0_1",
        call="committed_offsets",
        prefix=f"{THREAD} task [0_1]",
    ),
    _starts(
        "initTransactions",
        "Timeout exception caught trying to initialize transactions. The broker is either slow or in bad"
        " state (like not having enough replicas) in responding to the request, or the connection to broker"
        " was interrupted sending the request or receiving the response. Will retry initializing the task in"
        " the next loop. Consider overwriting max.block.ms to a larger value to avoid timeout errors",
        call="init_transactions",
    ),
    _starts(
        "partitionsFor",
        "Could not get partitions for topic out, will retry",
        "0_1",
        call="partitions_for",
        prefix=f"{THREAD} stream-task [0_1]",
    ),
    _starts(
        "end offsets of a changelog",
        "Could not fetch all end offsets for [a-0, a-1] due to o.TimeoutException: x, will retry in"
        " the next run loop",
        call="restore",
        level="DEBUG",
    ),
    _starts(
        "committed offsets of a changelog",
        "Could not retrieve the committed offsets for partitions [a-0] due to o.TimeoutException: x, will"
        " retry in the next run loop",
        call="restore",
        level="DEBUG",
    ),
    _starts(
        "offset reset",
        "Could not reset offset for [a-0] due to the following exception; will retry.",
        call="offset_reset",
        level="DEBUG",
    ),
    *(
        _starts(
            f"the global store: {what}",
            f"Failed to get {what}. The broker may be transiently unavailable at the moment.",
            "global",
            call="global",
            prefix=GLOBAL,
        )
        for what in ("offsets for partitions [a-0]", "partitions for topic a", "position for partition a-0")
    ),
    _string(
        "a timer that runs",
        f"{AT} DEBUG {THREAD} stream-task [0_1] Task did not make progress. Remaining time to"
        " deadline 2995; retrying.",
        ({"kind": "task_timer_started", "task": "0_1", "call": "", "remaining_ms": 2995},),
    ),
    _string(
        "a standby task's timer that runs",
        f"{AT} DEBUG {THREAD} standby-task [0_1] Task did not make progress. Remaining time to"
        " deadline 0; retrying.",
        ({"kind": "task_timer_started", "task": "0_1", "call": "", "remaining_ms": 0},),
    ),
    _ends(
        "a timer that is cleared",
        "Clearing task timeout. (o.X:1)",
        "0_1",
        "progress",
        f"{THREAD} stream-task [0_1]",
    ),
    _ends(
        "a failed commit that is made good",
        "Hit TimeoutException when committing all non-corrupted tasks, these will be closed and revived",
        "",
        "revived",
    ),
    _ends(
        "a thread that runs", "State transition from PARTITIONS_ASSIGNED to RUNNING (o.X:1)", "", "running"
    ),
    _ends("a thread that has ended", "Shutdown complete (o.X:1)", "", "closed"),
    _string(
        "the form of a stall under exactly-once",
        f"{AT} WARN {THREAD} Detected the states of tasks [0_1, 1_0] are corrupted. Will close the"
        " task as dirty and"
        " re-create and bootstrap from scratch.\no.TaskCorruptedException: Tasks [0_1, 1_0] are corrupted",
        tuple(
            fact
            for task in ("0_1", "1_0")
            for fact in (
                {"kind": "task_corrupted", "application": "wordcount", "task": task},
                {"kind": "task_timer_ended", "task": task, "reason": "corrupted"},
            )
        ),
    ),
    _string(
        "the same up to 2.5, with the changelogs",
        f"{AT} WARN {THREAD} Detected the states of tasks {{0_1=[a-0, a-1], 1_0=[b-0]}} are"
        " corrupted. Will close the"
        " task as dirty and re-create and bootstrap from scratch.",
        tuple(
            {"kind": kind, "task": task}
            for task in ("0_1", "1_0")
            for kind in ("task_corrupted", "task_timer_ended")
        ),
    ),
    _dies(
        "the client shuts down",
        "Encountered the following exception during processing and the registered exception handler opted to"
        " SHUTDOWN_CLIENT. The streams client is going to shut down now.",
        "SHUTDOWN_CLIENT",
        {"kind": "task_timer_ended", "task": "", "reason": "closed"},
    ),
    _dies(
        "the client shuts down, in the words of 3.x",
        "Encountered the following exception during processing and the registered exception handleropted to"
        " SHUTDOWN_CLIENT. The streams client is going to shut down now.",
        "SHUTDOWN_CLIENT",
        {"kind": "task_timer_ended", "task": "", "reason": "closed"},
    ),
    _dies(
        "the global thread cannot be replaced",
        "Encountered the following exception during processing  The streams client is going to shut"
        " down now. ",
        "SHUTDOWN_CLIENT",
        {"kind": "task_timer_ended", "task": "", "reason": "closed"},
    ),
    _dies(
        "the thread is replaced",
        "Replacing thread in the streams uncaught exception handler",
        "REPLACE_THREAD",
    ),
    _dies(
        "the application shuts down",
        "Encountered the following exception during processing and sent shutdown request for the"
        " entire application.",
        "SHUTDOWN_APPLICATION",
    ),
    _dies(
        "the application shuts down for its global thread",
        "Exception in global thread caused the application to attempt to shutdown. This action will succeed"
        " only if there is at least one StreamThread running on this client. Currently there are no running"
        " threads so will now close the client.",
        "SHUTDOWN_APPLICATION",
    ),
)
