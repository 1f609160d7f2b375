"""How long an instance may go on timing out, and how it stands in for its source's failures."""

from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from collector.sources.source import Chunk, SourceDownError, SourceTimeoutError
from collector.tasks.task import Instance

TIMEOUT = SourceTimeoutError("GET /connectors", "no answer in time")
DOWN = SourceDownError("it is not there")


class At(NamedTuple):
    """What one poll does at a time in ms: an error, or None for progress."""

    now_ms: int
    error: Exception | None


@dataclass
class Scripted:
    script: list[At]
    now_ms: int = 0
    name: str = "connect:x"
    kind: str = "connect"
    poll_interval_ms: int = 1
    close_fails: bool = field(default=False)

    def clock(self) -> int:
        return self.now_ms

    def poll(self) -> Chunk | None:
        self.now_ms, error = self.script.pop(0)
        if error is not None:
            raise error
        return None

    def close(self) -> None:
        if self.close_fails:
            raise OSError("stuck")


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
    source = Scripted(list(script))
    instance = Instance(source, timeout_ms, source.clock)
    assert [instance.poll().failed for _ in script] == failed


def test_the_first_timeout_names_its_call_and_the_next_ones_are_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Scripted([At(0, TIMEOUT), At(50, TIMEOUT), At(60, None), At(70, TIMEOUT)])
    instance = Instance(source, 100, source.clock)
    while source.script:
        instance.poll()
    warning = "GET /connectors timed out; without progress within 100 ms the source fails"
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [warning] * 2


def test_a_close_that_fails_is_logged_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    source = Scripted([], close_fails=True)
    Instance(source, 100, source.clock).close()
    assert caplog.messages == ["Close failed"]
