from dataclasses import dataclass
from random import Random

import pytest

from collector.contract.backoff import Backoff
from deadwatch.restarts import Ended, Policy, Restart, Step, StopAll, describe, next_step

EXACT = Policy(Backoff(initial_ms=100, max_ms=1_000, jitter=0.0), settled_ms=30_000)


@dataclass(frozen=True)
class Case:
    name: str
    step: Step
    exit_code: int = 1
    stopping: bool = False
    failures: int = 0
    ran_ms: int = 500


CASES = [
    Case("the first failure waits the initial delay", Restart(100, 1)),
    Case("the second failure in a row waits twice as long", Restart(200, 2), failures=1),
    Case("the delay stops growing at the maximum", Restart(1_000, 9), failures=8),
    Case("one millisecond short of settled still counts", Restart(200, 2), failures=1, ran_ms=29_999),
    Case("a child that had settled begins at one again", Restart(100, 1), failures=8, ran_ms=30_000),
    Case("an end nobody asked for is a failure, exit code 0 too", Restart(100, 1), exit_code=0),
    Case("a killed child is restarted", Restart(100, 1), exit_code=-9),
    Case("refused settings stop everything", StopAll(2), exit_code=2),
    Case("refused settings stop everything, however long it ran", StopAll(2), exit_code=2, ran_ms=99_999),
    Case("a child that was told to stop has ended", Ended(), exit_code=0, stopping=True),
    Case("a child that fails while stopping has ended", Ended(), exit_code=1, stopping=True),
    Case("exit code 2 while stopping refuses nothing", Ended(), exit_code=2, stopping=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_follows_an_exit(case: Case) -> None:
    step = next_step(
        case.exit_code,
        stopping=case.stopping,
        failures=case.failures,
        ran_ms=case.ran_ms,
        policy=EXACT,
        rng=Random(0),
    )

    assert step == case.step


SENTENCES = [
    (1, Restart(212, 1), "streaming ended with exit code 1, restarting in 212 ms (failure 1)"),
    (
        -9,
        Restart(400, 2),
        "streaming ended with exit code -9 (killed by signal 9), restarting in 400 ms (failure 2)",
    ),
    (2, StopAll(2), "streaming ended with exit code 2: its settings were refused, stopping everything"),
    (0, Ended(), "streaming stopped"),
]


@pytest.mark.parametrize(("exit_code", "step", "sentence"), SENTENCES)
def test_an_exit_is_said_in_one_line(exit_code: int, step: Step, sentence: str) -> None:
    assert describe("streaming", exit_code, step) == sentence
