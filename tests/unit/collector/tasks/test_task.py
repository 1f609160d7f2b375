"""How long an instance may go on timing out, and how it stands in for its source's failures."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pytest

from collector.sources.source import SourceDownError, SourceTimeoutError
from collector.tasks.task import Instance, Outcome
from tests.unit.collector.tasks.test_runtime import Scripted

TIMEOUT = SourceTimeoutError("GET /connectors", "no answer in time")
DOWN = SourceDownError("it is not there")


class At(NamedTuple):
    """What one poll does at a time in ms: an error, or None for progress."""

    now_ms: int
    error: Exception | None


def polls(timeout_ms: int, script: Sequence[At]) -> Iterator[Outcome]:
    """What an instance makes of each poll of its source."""
    now_ms = [0]

    def poll(at: At) -> None:
        now_ms[0] = at.now_ms
        if at.error is not None:
            raise at.error

    source = Scripted("connect:x", [partial(poll, at) for at in script])
    instance = Instance(source, timeout_ms, lambda: now_ms[0])
    return (instance.poll() for _ in script)


CASES: dict[str, tuple[int, list[At], list[bool]]] = {
    "the timeout after the limit fails it": (
        100,
        [At(0, TIMEOUT), At(100, TIMEOUT), At(101, TIMEOUT)],
        [False, False, True],
    ),
    "the last attempt may succeed": (100, [At(0, TIMEOUT), At(500, None), At(550, TIMEOUT)], [False] * 3),
    "slow reads that do not time out never count": (100, [At(0, None), At(9_999, None)], [False, False]),
    "another failure does not start the timer": (100, [At(0, DOWN), At(500, TIMEOUT)], [False, False]),
    "another failure is no progress": (
        100,
        [At(0, TIMEOUT), At(50, DOWN), At(101, TIMEOUT)],
        [False, False, True],
    ),
    "0 means no retry": (0, [At(0, TIMEOUT)], [True]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_limit_runs_from_the_first_timeout(name: str) -> None:
    timeout_ms, script, failed = CASES[name]
    assert [outcome.failed for outcome in polls(timeout_ms, script)] == failed


def test_the_first_timeout_names_its_call_and_the_next_ones_are_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert [*polls(100, [At(0, TIMEOUT), At(50, TIMEOUT), At(60, None), At(70, TIMEOUT)])]
    warning = "GET /connectors timed out; without progress within 100 ms the source fails"
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [warning] * 2


def test_a_close_that_fails_is_logged_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck(Scripted):
        def close(self) -> None:
            raise OSError("stuck")

    Instance(Stuck("connect:x"), 100, lambda: 0).close()
    assert caplog.messages == ["Close failed"]
