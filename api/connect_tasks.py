"""Connect's tasks as their beans and consumer groups show them: errors, and which are stalled."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from streaming.store import schema


@dataclass(frozen=True, slots=True)
class ConnectTaskRow:
    """One task on one worker; ``state`` is empty when it no longer runs there.

    The totals say something once it was ``counted``, ``stalled_since_ms`` (0: it gets on) while it is
    ``judged``.
    """

    kafka_cluster: str
    connect_cluster: str
    worker: str
    connector: str
    task: str
    state: str
    counted: bool
    record_failures_total: int
    record_errors_total: int
    records_skipped_total: int
    retries_total: int
    errors_logged_total: int
    dlq_produce_requests_total: int
    dlq_produce_failures_total: int
    last_error_at_ms: int
    judged: bool
    stalled_since_ms: int
    stalled_because: str
    observed_at_ms: int


def connect_task_rows(connection: Connection) -> list[ConnectTaskRow]:
    """Every task that was ever told."""
    columns = [schema.connect_tasks.c[name] for name in ConnectTaskRow.__dataclass_fields__]
    return [ConnectTaskRow(**row) for row in connection.execute(select(*columns)).mappings()]
