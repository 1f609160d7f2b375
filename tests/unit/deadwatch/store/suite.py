"""What the suites of the store share; a suite names its fixtures, so that ``tests/contract`` has them too."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Table, create_engine, insert, select

from deadwatch.contract.events import Event, Position
from deadwatch.orders.order import Order, OrderRequest
from deadwatch.store import schema
from deadwatch.store.batch import Batch, GroupDelta
from deadwatch.store.engine import connect
from deadwatch.store.store import Store
from deadwatch.store.write.audit import Entry

NOW_MS = 1_800_000_000_000
EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=1, offsets={}, marks={})
GROUP = GroupDelta(
    fingerprint="f0",
    kafka_cluster="c1",
    dlq_topic="dlq.a",
    dialect="connect",
    source_topic="a",
    consumer="sink",
    error_class="E",
    message_pattern="bad #",
    message="bad 1",
    records=3,
    first_ms=10,
    last_ms=20,
)

Rows = Callable[[Table, str], list[Any]]


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


@pytest.fixture
def connections(url: str) -> Iterator[Engine]:
    """Connections to a store that may lack its tables."""
    made = connect(url)
    yield made
    made.dispose()


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """Connections to a store that has its tables."""
    made = connect(url)
    with Store(url):
        yield made
    made.dispose()


@pytest.fixture
def rows(url: str) -> Iterator[Rows]:
    """These columns of a table, in the order of its key: a tuple for each row, of one column its values."""
    engine = create_engine(url)

    def read(table: Table, names: str) -> list[Any]:
        query = select(*(table.c[name] for name in names.split())).order_by(*table.primary_key.columns)
        with engine.connect() as connection:
            found = connection.execute(query)
            return list(map(tuple, found) if " " in names else found.scalars())

    yield read
    engine.dispose()


def apply(store: Store, *events: Event) -> None:
    """Merge the events as soon as the last of them was observed."""
    at_ms = max((one.observed_at_ms for one in events), default=EMPTY.committed_at_ms)
    assert store.apply(replace(EMPTY, committed_at_ms=at_ms, events=events))


def keep_entries(connection: Connection, entries: Iterable[Entry]) -> None:
    """Of the audit, all at once: thousands that are written one by one take seconds."""
    connection.execute(insert(schema.audit), [asdict(one) for one in entries])


def origin(source: str = "s", at_ms: int = 5, kafka_cluster: str = "c") -> dict[str, Any]:
    """What every event says of where and when."""
    place = {"source": source, "position": Position(at_ms), "kafka_cluster": kafka_cluster}
    return {**place, "happened_at_ms": at_ms, "observed_at_ms": at_ms}


def order(name: str, dlq_topic: str = "dlq.t", selection: object = None, **changes: Any) -> Order:  # noqa: ANN401
    """An accepted order, of all records by default; ``changes`` of its request and of itself."""
    request: dict[str, Any] = {
        "dlq_topic": dlq_topic,
        "selection": selection or {"all": True},
        "reason": "fixed",
    }
    asked = OrderRequest.model_validate({**request, "dry_run": False, **changes.pop("request", {})})
    values: dict[str, Any] = {"requested_by": "me", "created_at_ms": 1, "begin": {0: 0}, "cut_off": {0: 9}}
    return Order(id=name, request=asked, **{**values, **changes})
