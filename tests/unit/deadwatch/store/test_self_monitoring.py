"""What streaming and collectors report of themselves, from Spark's progress and events to samples."""

from types import SimpleNamespace

import pytest

from api.metrics import catalog, samples
from deadwatch.store.store import Store
from deadwatch.store.write.progress import BEHIND, MAX_SUBJECTS, PHASE, RATE
from streaming import job
from tests.unit.deadwatch.store import suite

PROGRESS = {
    "numInputRows": 30,
    "processedRowsPerSecond": 99.6,
    "durationMs": {"addBatch": 250, "walCommit": 12},
}
FIGURES = {PHASE: {"addBatch": 250, "walCommit": 12}, RATE: {"": 100}}

store = suite.store


def test_the_last_batches_with_records_tell_their_phases() -> None:
    assert job.figures_of([PROGRESS]) == FIGURES
    other = {"numInputRows": 1, "processedRowsPerSecond": 7, "durationMs": {"addBatch": 300, "getBatch": 1}}
    phases = {"addBatch": 300, "walCommit": 12, "getBatch": 1}
    assert job.figures_of([PROGRESS, other]) == {PHASE: phases, RATE: {"": 107}}


@pytest.mark.parametrize("nothing", [{}, {"numInputRows": 0, "durationMs": {"triggerExecution": 1}}])
def test_a_trigger_without_records_tells_nothing(nothing: dict[str, object]) -> None:
    assert job.figures_of([nothing, nothing]) == {}
    assert job.figures_of([nothing, PROGRESS]) == FIGURES


def report(end_offset: str | None) -> SimpleNamespace:
    """What Java reports of a batch, as far as it is asked."""
    return SimpleNamespace(sources=lambda: [SimpleNamespace(endOffset=lambda: end_offset)])


def test_a_batch_tells_where_it_has_ended_with_or_without_records() -> None:
    events, dead_letters = report('{"e":{"2":9}}'), report('{"dlq":{"0":5,"1":0}}')
    assert job.end_offsets([events, dead_letters]) == {("dlq", 0): 5, ("dlq", 1): 0, ("e", 2): 9}
    assert job.end_offsets([report(None)]) == {}


def test_a_name_is_told_anew_as_a_whole_and_others_stay(store: Store) -> None:
    store.note_figures({BEHIND: {"a": 1, "b": 2}, **FIGURES})
    store.note_figures({BEHIND: {"b": 3}})
    assert store.figures() == {BEHIND: {"b": 3}, **FIGURES}
    store.note_figures({BEHIND: {}})
    assert store.figures() == FIGURES


def test_of_too_many_subjects_the_greatest_stay(store: Store) -> None:
    store.note_figures({BEHIND: {f"t{number}": number for number in range(MAX_SUBJECTS + 5)}})
    kept = store.figures()[BEHIND]
    assert len(kept) == MAX_SUBJECTS
    assert min(kept.values()) == 5


def test_figures_are_samples_in_seconds_and_records() -> None:
    assert [sample[:3] for sample in samples.stream_samples({BEHIND: {"a": 7}, **FIGURES})] == [
        (catalog.STREAM_BEHIND, ("a",), 7),
        (catalog.BATCH_PHASE_DURATION, ("addBatch",), 0.25),
        (catalog.BATCH_PHASE_DURATION, ("walCommit",), 0.012),
        (catalog.STREAM_RATE, (), 100),
    ]
