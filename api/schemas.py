"""The answers of ``/api/v1``. Times are RFC 3339 in UTC; durations end in ``_ms``. What is
not known is "" where a text stands and null elsewhere.

This module is a table of the answers' fields, with an example each for ``/docs``.
"""

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")

TIME = "2026-11-21T12:38:42.120000Z"


class Answer(BaseModel):
    """Base of every answer."""

    model_config = ConfigDict(frozen=True)


NEXT: Any = Field(description="Cursor of the next page; null at the end.", examples=[None])


class Page(Answer, Generic[Item]):
    """A part of a list; ask again with ``after`` = ``next`` for the rest."""

    items: list[Item]
    next: str | None = NEXT


class Alive(Answer):
    """The process answers."""

    alive: Literal[True] = True


class Readiness(Answer):
    """Whether the other routes can be answered; ``missing`` says what they lack."""

    ready: bool = Field(examples=[True])
    missing: list[str] = Field(examples=[[]])
    warnings: list[str] = Field(
        description="What does not work although the api is ready: redrives without a worker.", examples=[[]]
    )


class Count(Answer):
    """A total since the store began, and when it last grew."""

    total: int = Field(examples=[3])
    last_seen: datetime | None = Field(examples=[TIME])


class DeadLettersNow(Count):
    """Dead letters over all topics."""

    waiting: int = Field(
        description="Neither moved nor parked by a redrive, nor known to be gone; without archived causes.",
        examples=[12],
    )
    topics: int = Field(description="Dead letter topics with records.", examples=[2])
    groups: int = Field(description="Causes.", examples=[4])
    lost: Count = Field(description="Times a broker could not write share-group dead letters.")


class DeliveryTimeoutsNow(Answer):
    """Batches and records that producers gave up."""

    batches: int = Field(examples=[7])
    records: int = Field(examples=[21])
    last_seen: datetime | None = Field(examples=[TIME])


class AbandonedNow(Answer):
    """Abandoned instances: those that still run, and all there ever were."""

    current: int = Field(examples=[1])
    total: int = Field(examples=[1])
    last_seen: datetime | None = Field(examples=[TIME])


class FindingsNow(Answer):
    """Configurations that would lose or strand records: how many hold now, the newest since when."""

    current: int = Field(examples=[2])
    newest_since: datetime | None = Field(examples=[TIME])


class StalledNow(Answer):
    """Tasks of Connect for which records wait while nothing moves."""

    current: int = Field(examples=[0])
    longest_since: datetime | None = Field(examples=[None])


class Source(Answer):
    """A source that does not work, or is silent."""

    name: str = Field(examples=["connect:127.0.0.1:8083"])
    kind: str = Field(examples=["connect"])
    message: str = Field(examples=["connection refused"])
    down_since: datetime | None = Field(examples=[TIME])
    last_heard: datetime | None = Field(examples=[TIME])


class Sources(Answer):
    """How many sources there are, and those that are down."""

    total: int = Field(examples=[3])
    down: list[Source]


class Pipeline(Answer):
    """The last batch of streaming; nulls before the first."""

    lag_ms: int | None = Field(description="Age of its newest event when it was committed.", examples=[240])
    batch_duration_ms: int | None = Field(examples=[130])
    batch_records: int | None = Field(examples=[12])
    last_batch: datetime | None = Field(examples=[TIME])


class RedrivesNow(Answer):
    """Redrives that are not over, and who moves them."""

    running: int = Field(examples=[1])
    paused: int = Field(examples=[0])
    workers: int = Field(description="Workers that were heard lately.", examples=[1])
    warning: str | None = Field(description="Redrives wait and no worker runs.", examples=[None])


class Overview(Answer):
    """One screen: what is dead, late or abandoned now."""

    kafka_cluster: str = Field(examples=["default"])
    at: datetime | None = Field(examples=[TIME])
    dead_letters: DeadLettersNow
    task_timeouts: Count
    delivery_timeouts: DeliveryTimeoutsNow
    client_timeouts: Count
    abandoned_tasks: AbandonedNow
    abandoned_connectors: AbandonedNow
    findings: FindingsNow
    stalled_tasks: StalledNow
    quarantined: Count
    redrives: RedrivesNow
    sources: Sources
    pipeline: Pipeline


class DeadLetterQueue(Answer):
    """A dead letter topic as it is in Kafka now."""

    exists: bool = Field(description="False: a configuration names it, nobody has made it.", examples=[True])
    backlog_records: int = Field(
        description="Offsets that are on it: records, and markers of transactions. At most as many records.",
        examples=[10],
    )
    oldest_record: datetime | None = Field(description="Time of the first of them.", examples=[TIME])
    named_by: str = Field(
        description="Share groups and connectors that send there.", examples=["share group g1"]
    )
    read: bool = Field(description="Whether its records are counted by cause.", examples=[True])
    to_do: str = Field(description="What to change; empty: nothing.", examples=[""])


class DeadLetterTopic(Answer):
    """A dead letter topic: sums over every cause."""

    kafka_cluster: str = Field(examples=["default"])
    dlq_topic: str = Field(examples=["dlq.orders"])
    records: int = Field(description="That have ever arrived.", examples=[10])
    waiting: int = Field(
        description="Of these, neither moved nor parked by a redrive, and no more than lie on it.",
        examples=[4],
    )
    dialects: list[str] = Field(examples=[["share"]])
    source_topics: list[str] = Field(examples=[["orders"]])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])
    queue: DeadLetterQueue | None = Field(description="Null: no collector has told of it.")


class DeadLetterTopics(Page[DeadLetterTopic]):
    """Dead letter topics, in the order that was asked for."""


class DeadLetterGroup(Answer):
    """Dead letters of one cause."""

    fingerprint: str = Field(examples=["3f1c0a9be27d4455"])
    kafka_cluster: str = Field(examples=["default"])
    dlq_topic: str = Field(examples=["dlq.filesink"])
    dialect: str = Field(examples=["connect"])
    source_topic: str = Field(examples=["payments"])
    consumer: str = Field(description="Connector, share group or application.", examples=["filesink"])
    error_class: str = Field(examples=["org.apache.kafka.connect.errors.DataException"])
    message: str = Field(
        description="Of the latest record.", examples=["Converting byte[] failed at offset 17"]
    )
    message_pattern: str = Field(
        description="What all have.", examples=["Converting byte[] failed at offset #"]
    )
    records: int = Field(description="That have ever arrived.", examples=[10])
    waiting: int = Field(
        description="Of these, neither moved nor parked by a redrive, and no more than wait on its topic; "
        "0: all are handled, or gone as far as that can be told.",
        examples=[4],
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])
    owner: str = Field(description="Who cares for it.", examples=["team payments"])
    comment: str = Field(examples=["converter is being fixed"])
    archived: bool = Field(description="Done with; false again as soon as it grows.", examples=[False])
    archive_reason: str = Field(examples=[""])
    archived_at: datetime | None = Field(description="Also of a group that has grown since.", examples=[None])


class DeadLetterGroups(Page[DeadLetterGroup]):
    """Groups by cause, in the order that was asked for."""


class GroupNoteRequest(BaseModel):
    """What is said of a group; it takes the place of what was said before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    owner: str = Field("", max_length=200, description="Who cares for it.", examples=["team payments"])
    comment: str = Field("", max_length=4_000, examples=["converter is being fixed"])


class ArchiveRequest(BaseModel):
    """Why a group is done with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: str = Field(min_length=1, max_length=1_000, examples=["fixed in 4.1, records redriven"])


class GroupNote(Answer):
    """What people say of a group."""

    fingerprint: str = Field(examples=["3f1c0a9be27d4455"])
    version: int = Field(description="Counts the changes; the ETag.", examples=[1])
    owner: str = Field(examples=["team payments"])
    comment: str = Field(examples=["converter is being fixed"])
    archive_reason: str = Field(examples=[""])
    archived_at: datetime | None = Field(examples=[None])
    archived_records: int = Field(description="Records the group had then.", examples=[0])
    changed_by: str = Field(examples=["alice"])
    changed_at: datetime | None = Field(examples=[TIME])


class Header(Answer):
    """A header of a record; long values are cut, and what does not tell of the failure is masked."""

    name: str = Field(examples=["__connect.errors.stage"])
    value: str | None = Field(examples=["VALUE_CONVERTER"])
    masked: bool = Field(description="It has a value that is not shown.", examples=[False])


class Sample(Answer):
    """One of the newest records of a group, without its payload: of key and value only the size is told."""

    dlq_topic: str = Field(examples=["dlq.filesink"])
    partition: int = Field(examples=[0])
    offset: int = Field(examples=[42])
    timestamp: datetime | None = Field(examples=[TIME])
    headers: list[Header]
    key_bytes: int | None = Field(description="null: the record has no key.", examples=[None])
    value_bytes: int | None = Field(description="null: the record has no value.", examples=[408])


class SeriesPoint(Answer):
    """What a counter grew by in the step that begins at ``at``."""

    at: datetime | None = Field(examples=[TIME])
    value: int = Field(examples=[3])


class DeadLetterGroupDetail(DeadLetterGroup):
    """A group, how it grew by the hour over the last day, and its samples, newest first.

    ``redriven`` and the four behind it are of its records, whichever redrive has sent them.
    """

    redriven: int = Field(examples=[120])
    parked: int = Field(
        description="Their attempts were used up, or their error class excluded.", examples=[3]
    )
    returned: int = Field(description="Of these, back on a dead letter topic.", examples=[2])
    settled: int = Field(description="Of these, not back within the settle window.", examples=[100])
    success_rate: float | None = Field(
        description="Settled among settled and returned; null: nothing is known yet.", examples=[0.98]
    )

    trend: list[SeriesPoint] = Field(description="An hour that is missing is 0.")
    samples: list[Sample]


class TaskTimeouts(Answer):
    """What a Streams task suffered; elapsed time and message are the latest one's."""

    kafka_cluster: str = Field(examples=["default"])
    application: str = Field(examples=["wordcount"])
    task: str = Field(examples=["0_1"])
    timeouts: int = Field(examples=[1])
    elapsed_ms: int | None = Field(examples=[4006])
    message: str = Field(examples=["Task 0_1 did not make progress within 4006 ms."])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class TaskTimer(Answer):
    """A timer of ``task.timeout.ms`` that runs: a call of the task timed out, and it has not moved since."""

    kafka_cluster: str = Field(examples=["default"])
    application: str = Field(examples=["wordcount"])
    streams_client: str = Field(examples=["wordcount-6f1c"])
    thread: str = Field(examples=["wordcount-6f1c-StreamThread-1"])
    task: str | None = Field(description="Null: the log names the thread alone.", examples=["0_1"])
    call: str = Field(description="What timed out first; empty: not known.", examples=["commit"])
    since: datetime | None = Field(examples=[TIME])
    last_heard: datetime | None = Field(examples=[TIME])
    remaining_ms: int | None = Field(
        description="Until it expires; null unless Streams logs at DEBUG.", examples=[2995]
    )
    message: str = Field(examples=["Committing task(s) 0_1 failed."])


class ConnectInstance(Answer):
    """A connector (``task`` null) or task, as the latest snapshot of its worker saw it."""

    kafka_cluster: str = Field(examples=["default"])
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["pipe"])
    task: str | None = Field(examples=["0"])
    state: str = Field(description="REST's word; empty when REST does not know it.", examples=["RUNNING"])
    abandoned: int = Field(description="Threads that still run although let go of.", examples=[1])
    observed_at: datetime | None = Field(examples=[TIME])


class Tasks(Answer):
    """Tasks of Kafka Streams that timed out, latest first, those whose timer runs, oldest first, and
    everything that Connect runs; of each list the next part.
    """

    task_timeouts: list[TaskTimeouts]
    timers: list[TaskTimer]
    connect: list[ConnectInstance]
    next: str | None = NEXT


class ConnectTaskErrors(Answer):
    """What the bean ``task-error-metrics`` counted, added up over restarts."""

    record_failures: int = Field(examples=[10])
    record_errors: int = Field(examples=[10])
    records_skipped: int = Field(examples=[10])
    retries: int = Field(examples=[0])
    errors_logged: int = Field(examples=[10])
    dlq_produce_requests: int = Field(examples=[10])
    dlq_produce_failures: int = Field(examples=[0])
    last_error: datetime | None = Field(examples=[TIME])


class ConnectTask(Answer):
    """A task of Connect on one worker."""

    kafka_cluster: str = Field(examples=["default"])
    connect_cluster: str = Field(
        description="The cluster's `name` in the settings, or its URL.", examples=["http://127.0.0.1:8083"]
    )
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["filesink"])
    task: str = Field(examples=["0"])
    state: str = Field(description="REST's word; empty: it no longer runs there.", examples=["RUNNING"])
    stalled: bool | None = Field(
        description="Records wait and nothing moves; null: that cannot be known.", examples=[False]
    )
    stalled_since: datetime | None = Field(examples=[None])
    stalled_because: str = Field(description="What was seen.", examples=[""])
    errors: ConnectTaskErrors | None = Field(description="Null: its worker's agent never told them.")
    observed_at: datetime | None = Field(examples=[TIME])


class ConnectTasks(Page[ConnectTask]):
    """Those stalled for longest first, then the latest errors."""


class AbandonedFigures(Answer):
    """What one witness says."""

    current: int = Field(examples=[1])
    total: int = Field(examples=[1])


class AbandonedInstance(Answer):
    """How often a connector (``task`` null) or task was abandoned, and how many instances still run."""

    kind: Literal["connector", "task"] = Field(examples=["task"])
    kafka_cluster: str = Field(examples=["default"])
    worker: str = Field(examples=["127.0.0.1:8083"])
    connector: str = Field(examples=["pipe"])
    task: str | None = Field(examples=["0"])
    current: int = Field(examples=[1])
    total: int = Field(examples=[1])
    evidence: Literal["threads", "log"] = Field(
        description="What ``current`` stands on.", examples=["threads"]
    )
    log: AbandonedFigures = Field(description="By the worker's log.")
    threads: AbandonedFigures | None = Field(description="By its threads; null: never seen.")
    disagree: bool | None = Field(
        description="Whether the two differ; null: only one of them tells of this worker.", examples=[False]
    )
    message: str = Field(
        description="The latest log line.", examples=["Graceful stop of task pipe-0 failed."]
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class AbandonedInstances(Page[AbandonedInstance]):
    """Those that still run first, then the latest."""


class DeliveryTimeout(Answer):
    """What a producer gave up for a topic; elapsed time and message are the latest batch's."""

    kafka_cluster: str = Field(examples=["default"])
    topic: str = Field(examples=["orders"])
    client_id: str = Field(examples=["checkout-1"])
    client: str = Field(description="The library: java, kafka-python or librdkafka.", examples=["java"])
    batches: int = Field(examples=[1])
    records: int = Field(examples=[3])
    elapsed_ms: int | None = Field(examples=[3004])
    message: str = Field(
        examples=["Expiring 3 record(s) for orders-0:3004 ms has passed since batch creation"]
    )
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class DeliveryTimeouts(Page[DeliveryTimeout]):
    """By topic and client, latest first."""


class SeriesLine(Answer):
    """The counters with these labels, added up."""

    labels: dict[str, str] = Field(examples=[{"connector": "pipe"}])
    total: int = Field(examples=[3])
    points: list[SeriesPoint]


class SeriesAnswer(Answer):
    """A counter over time; a step without a point is 0."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True, validate_by_name=True)

    metric: str = Field(examples=["deadwatch_dead_letter_queue_records_total"])
    begin: datetime | None = Field(alias="from", examples=[TIME])
    end: datetime | None = Field(alias="to", examples=[TIME])
    step_ms: int = Field(examples=[60_000])
    lines: list[SeriesLine]


class Finding(Answer):
    """A configuration that would lose or strand records; it is gone when it is mended."""

    kafka_cluster: str = Field(examples=["default"])
    kind: str = Field(description="As docs/findings.md lists them.", examples=["dlq_compacted"])
    subject: str = Field(description="What has it.", examples=["topic:dlq.orders"])
    message: str = Field(
        description="What is wrong, and what would be lost.",
        examples=["it is compacted: of dead letters with the same key only the last one stays"],
    )
    change: str = Field(
        description="A command, or settings as key=value.", examples=["errors.tolerance=none"]
    )
    first_seen: datetime | None = Field(description="Since when it lasts.", examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class Findings(Page[Finding]):
    """What will go wrong, the newest finding first."""


class JolokiaRequest(Answer):
    """What was asked for."""

    mbean: str = Field(examples=["kafka.connect:type=connect-worker-metrics"])
    type: Literal["read"] = "read"
    attribute: str | None = Field(None, examples=["abandoned-tasks-total"])


class JolokiaAnswer(Answer):
    """As a Jolokia agent answers: also what is not there is an answer, with its own ``status``."""

    request: JolokiaRequest
    value: dict[str, int] | dict[str, dict[str, int]] | int | None = Field(
        None,
        description="Attributes of one bean; of a pattern, by the beans' names; of one attribute, its value.",
        examples=[{"abandoned-tasks-current": 1, "abandoned-tasks-total": 1}],
    )
    status: int = Field(description="200, 400 or 404.", examples=[200])
    timestamp: int = Field(description="Seconds since the epoch.", examples=[1_800_000_000])
    error_type: str | None = Field(None, examples=[None])
    error: str | None = Field(None, examples=[None])


class Problem(Answer):
    """A failure, as RFC 9457 has it; ``type`` is stable."""

    type: str = Field(examples=["urn:deadwatch:problem:store-unavailable"])
    title: str = Field(examples=["The store cannot be read"])
    status: int = Field(examples=[503])
    detail: str = Field(examples=["there is no store yet: streaming makes it at its first start"])
    request_id: str = Field(description="As in X-Request-Id, in the log and in the audit.", examples=["f3c1"])
    trace_id: str | None = Field(None, description="Where the request is traced.", examples=[None])
