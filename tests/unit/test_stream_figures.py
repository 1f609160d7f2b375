"""What the query says of its own work, from Spark's progress to samples."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from api.metrics import catalog, stream
from streaming import progress
from streaming.store import stream_figures
from streaming.store.batch import delta
from streaming.store.engine import connect
from streaming.store.series import BATCH_FAILURES
from streaming.store.store import Store
from streaming.store.stream_figures import BEHIND, MAX_SUBJECTS, PHASE, RATE

PROGRESS = {
    "numInputRows": 30,
    "processedRowsPerSecond": 99.6,
    "durationMs": {"addBatch": 250, "walCommit": 12},
}
FIGURES = {PHASE: {"addBatch": 250, "walCommit": 12}, RATE: {"": 100}}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


@pytest.fixture
def engine(url: str, store: Store) -> Iterator[Engine]:
    del store  # it has made the tables
    made = connect(url)
    yield made
    made.dispose()


def told(engine: Engine) -> dict[str, dict[str, int]]:
    with engine.begin() as connection:
        return stream_figures.read(connection)


def test_the_last_batch_with_records_tells_its_phases() -> None:
    assert progress.figures(PROGRESS) == FIGURES


@pytest.mark.parametrize("nothing", [None, {}, {"numInputRows": 0, "durationMs": {"triggerExecution": 1}}])
def test_a_trigger_without_records_tells_nothing(nothing: dict[str, object] | None) -> None:
    assert progress.figures(nothing) == {}


def test_a_name_is_told_anew_as_a_whole_and_others_stay(store: Store, engine: Engine) -> None:
    store.note_figures({BEHIND: {"a": 1, "b": 2}, **FIGURES})
    store.note_figures({BEHIND: {"b": 3}})
    assert told(engine) == {BEHIND: {"b": 3}, **FIGURES}
    store.note_figures({BEHIND: {}})
    assert told(engine) == FIGURES


def test_of_too_many_subjects_the_greatest_stay(store: Store, engine: Engine) -> None:
    store.note_figures({BEHIND: {f"t{number}": number for number in range(MAX_SUBJECTS + 5)}})
    kept = told(engine)[BEHIND]
    assert len(kept) == MAX_SUBJECTS
    assert min(kept.values()) == 5


def test_figures_are_samples_in_seconds_and_records() -> None:
    assert list(stream.figures({BEHIND: {"a": 7}, **FIGURES})) == [
        (catalog.STREAM_BEHIND, ("a",), 7),
        (catalog.BATCH_PHASE_DURATION, ("addBatch",), 0.25),
        (catalog.BATCH_PHASE_DURATION, ("walCommit",), 0.012),
        (catalog.STREAM_RATE, (), 100),
    ]


def test_failures_are_counted_outside_of_batches(store: Store, engine: Engine) -> None:
    for _ in range(2):
        store.count(delta(BATCH_FAILURES, {"cause": "kafka"}, 1, first_ms=1, last_ms=1))
    with engine.begin() as connection:
        rows = connection.exec_driver_sql("SELECT name, labels, value FROM series").all()
    assert [tuple(row) for row in rows] == [("batch_failures", '{"cause":"kafka"}', 2)]
