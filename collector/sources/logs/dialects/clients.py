"""What producers and consumers say about their timeouts (KIP-91) and their backoff (KIP-580).

A producer logs none of its expired batches itself: the texts are those of exceptions, in the log of whoever
got them. Java and kafka-python spell the expiry differently; Java adds a sentence from 4.3 on.

librdkafka writes lines of its own, ``%LEVEL|TIME|FACILITY|NAME#INSTANCE| [thrd:...]: text``. Requests that
ran out of time are logged one by one and then once for the broker: the latter line counts. A batch that was
given up is logged only with ``debug=msg``; without it, it is an error in the application.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from collector.sources.logs.dialects import streams
from collector.sources.logs.dialects.cause import Cause, reported
from deadwatch.contract.events import ClientTimeout, DeliveryTimeout, RetryBackoffMisconfigured

TRIGGERS: Final = (
    " ms has passed since batch creation",
    "not present in metadata after",
    " bytes within the configured max blocking time ",
    " expired before successfully committing offsets ",
    " due to request timeout.",
    "Failed to update metadata after",
    "A static backoff with value",
    " partially-sent requests",
    "Application maximum poll inter",
    ": message.timeout.ms exceeded",
)
LIBRDKAFKA: Final = "librdkafka"
SAME_BATCH_WITHIN_MS: Final = 50
SAME_CAUSE_WITHIN_MS: Final = 10_000

_EXPIRY = re.compile(
    r"Expiring (?P<records>\d{1,9}) record\(s\) for "
    r"(?:TopicPartition\(topic='(?P<topic_repr>[^']+)', partition=(?P<partition_repr>\d{1,9})\): "
    r"|(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d{1,9}):)"
    r"(?P<elapsed>\d{1,18}) ms has passed since batch creation"
    r"(?:\. The request has not been sent, or no server response has been received yet\.)?",
    re.ASCII,
)
_UNKNOWN = r"(?:Topic \S+|Partition \d+ of topic \S+ with partition count \d+ is)"
_TIMEOUTS: Final = tuple(
    (timeout, client, re.compile(pattern))
    for timeout, client, pattern in (
        ("metadata", "java", rf"{_UNKNOWN} not present in metadata after \d+ ms\."),
        ("buffer", "java", r"Failed to allocate \d+ bytes within the configured max blocking time \d+ ms\."),
        ("commit", "java", r"Timeout of \d+ms expired before successfully committing offsets [^)]*"),
        ("request", "java", r"Disconnecting from node -?\d+ due to request timeout\."),
        ("metadata", "kafka-python", r"Failed to update metadata after [\d.]+ secs\."),
    )
)
_BACKOFF = re.compile(
    r"Configuration '[^']*' with value '[^']*' is greater than configuration '[^']*' with value '[^']*'\."
    r" A static backoff with value '[^']*' will be applied\."
)
_CLIENT_ID = re.compile(r"\bclientId=([^,\]\s]+)")
_CONNECT_TASK = re.compile(r"\[([^|\]]+)\|task-(\d+)(?:\|[^\]]*)?\] ")

_REQUESTS = re.compile(
    r"Timed out \d+ in-flight, \d+ retry-queued, \d+ out-queue, \d+ partially-sent requests"
)
_POLL = re.compile(r"Application maximum poll interval \(\d+ms\) exceeded by \d+ms")
_GIVEN_UP = re.compile(
    r": (?P<topic>[A-Za-z0-9._-]+) \[(?P<partition>\d{1,9})\]:"
    r" timed out (?P<sent>\d{1,9})\+(?P<waiting>\d{1,9}) message\(s\)"
    r" \(MsgId \d+\.\.\d+\): message\.timeout\.ms exceeded",
    re.ASCII,
)
_INSTANCE = re.compile(r"%\d\|[\d.]+\|\w+\|([^|]+?)#(?:producer|consumer)-\d+\|")


def read(line: str, header: str) -> Iterator[Cause]:
    """The timeouts and warnings of clients that the line mentions; ``header`` is its entry's first line."""
    client_id = owner_of(header, "-producer", "connector-producer-")
    for match in _EXPIRY.finditer(line):
        yield _expiry(match, client_id)
    wrapped = line.lstrip().startswith("Caused by: ")
    for timeout, client, pattern in _TIMEOUTS:
        for match in pattern.finditer(line):
            yield _timeout(timeout, match[0], client_id, client=client, wrapped=wrapped)
    for match in _BACKOFF.finditer(line):
        yield reported(RetryBackoffMisconfigured, match[0], client_id=owner_of(header), message=match[0])
    yield from _of_librdkafka(line)


def owner_of(header: str, of_thread: str = "", of_task: str = "") -> str:
    """The client that an entry names, or the Streams thread or Connect task one of whose clients it is.

    The latter two have ``of_thread`` behind and ``of_task`` in front, as the client has that is meant.
    """
    if match := _CLIENT_ID.search(header):
        return match[1]
    if thread := streams.thread_of(header):
        return f"{thread}{of_thread}"
    match = _CONNECT_TASK.search(header)
    return f"{of_task}{match[1]}-{match[2]}" if match else ""


def _expiry(match: re.Match[str], client_id: str) -> Cause:
    """Each record of a batch may be reported in an entry of its own, right after one another."""
    topic, partition = match["topic"] or match["topic_repr"], match["partition"] or match["partition_repr"]
    records, elapsed_ms = match["records"], match["elapsed"]
    expired = reported(
        DeliveryTimeout,
        *(client_id, topic, partition, records, elapsed_ms),
        client="java" if match["topic"] else "kafka-python",
        client_id=client_id,
        topic=topic,
        partition=int(partition),
        records=int(records),
        elapsed_ms=int(elapsed_ms),
        message=match[0],
    )
    return replace(expired, window_ms=SAME_BATCH_WITHIN_MS, mentions=max(int(records), 1))


def _timeout(timeout: str, message: str, client_id: str, *, client: str, wrapped: bool) -> Cause:
    """As the cause of another failure, it has most likely been logged by itself just before."""
    facts = {"client": client, "client_id": client_id, "timeout": timeout, "message": message}
    timed_out = reported(ClientTimeout, timeout, message, **facts)
    if wrapped:
        return replace(timed_out, window_ms=SAME_CAUSE_WITHIN_MS)
    return replace(timed_out, also=timed_out.identity)


def _of_librdkafka(line: str) -> Iterator[Cause]:
    instance = _INSTANCE.search(line)
    who = {"client": LIBRDKAFKA, "client_id": instance[1] if instance else ""}
    for timeout, pattern in (("request", _REQUESTS), ("poll", _POLL)):
        for match in pattern.finditer(line):
            identity = (who["client_id"], timeout, match[0])
            yield reported(ClientTimeout, *identity, **who, timeout=timeout, message=match[0])
    for match in _GIVEN_UP.finditer(line):
        yield reported(
            DeliveryTimeout,
            who["client_id"],
            match[0],
            **who,
            topic=match["topic"],
            partition=int(match["partition"]),
            records=int(match["sent"]) + int(match["waiting"]),
            elapsed_ms=0,
            message=match[0].removeprefix(": "),
        )
