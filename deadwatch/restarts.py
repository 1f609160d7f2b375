"""What follows when a child process has ended: pure decisions, the caller owns time and chance.

A child is expected to run until it is told to stop; whatever else ends it is a failure, exit code 0 included.
A failure is answered with a restart after a delay that grows as KIP-580 says. A child that had run for
``settled_ms`` begins again at the first failure. Refused settings do not get better by trying: exit code 2
stops everything.
"""

from dataclasses import dataclass, field
from random import Random

from collector.contract.backoff import Backoff
from collector.process import REFUSED


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient the supervisor is with a child that fails."""

    backoff: Backoff = field(default_factory=lambda: Backoff(initial_ms=200, max_ms=10_000))
    settled_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Ended:
    """The child was told to stop and did."""


@dataclass(frozen=True, slots=True)
class Restart:
    """Start the child again after ``delay_ms``; it has failed ``failures`` times in a row."""

    delay_ms: int
    failures: int


@dataclass(frozen=True, slots=True)
class StopAll:
    """Stop every child and end with ``exit_code``."""

    exit_code: int


Step = Ended | Restart | StopAll


def next_step(
    exit_code: int, *, stopping: bool, failures: int, ran_ms: int, policy: Policy, rng: Random
) -> Step:
    """Decide after an exit; ``failures`` are those before it. The first rule that applies wins."""
    if stopping:
        return Ended()
    if exit_code == REFUSED:
        return StopAll(REFUSED)
    failures = 1 if ran_ms >= policy.settled_ms else failures + 1
    return Restart(policy.backoff.delay_ms(failures, rng), failures)


def describe(name: str, exit_code: int, step: Step) -> str:
    """The one line that says what happened and what follows."""
    ended = f"{name} ended with exit code {_reason(exit_code)}"
    match step:
        case Restart(delay_ms, failures):
            return f"{ended}, restarting in {delay_ms} ms (failure {failures})"
        case StopAll():
            return f"{ended}: its settings were refused, stopping everything"
        case Ended():
            return f"{name} stopped"


def _reason(exit_code: int) -> str:
    """As Python's subprocess counts: negative is the signal that killed it."""
    return f"{exit_code} (killed by signal {-exit_code})" if exit_code < 0 else str(exit_code)
