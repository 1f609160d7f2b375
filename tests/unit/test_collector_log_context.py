"""Which instance a log line belongs to, and the lines around every call of a source's methods."""

import logging
import threading

import pytest

from collector.log_context import TRACE, Scope, add_context, invoke, log_context


class Odd:
    """A source with a method that works and one that does not."""

    def works(self) -> int:
        logging.getLogger("odd.library").info("inside")
        return 7

    def fails(self) -> int:
        raise ZeroDivisionError


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(TRACE)
    caplog.handler.addFilter(add_context)
    caplog.handler.setFormatter(logging.Formatter("%(levelname)s %(context)s%(message)s"))
    return caplog


CONTEXTS = [
    ("an instance that reads", ("log:a", Scope.TASK, 2), "[log:a|task-0|2] "),
    ("an instance that starts others", ("log:*", Scope.CONNECTOR, 1), "[log:*|worker|1] "),
    ("a validation has no number", ("log:a", Scope.VALIDATION, None), "[log:a|validate] "),
]


@pytest.mark.parametrize(("of", "prefix"), [row[1:] for row in CONTEXTS], ids=[row[0] for row in CONTEXTS])
def test_every_line_inside_carries_the_context(
    lines: pytest.LogCaptureFixture, of: tuple[str, Scope, int | None], prefix: str
) -> None:
    with log_context(*of):
        logging.getLogger("odd.library").info("inside")
    logging.getLogger("odd.library").info("outside")
    assert lines.text.splitlines() == [f"INFO {prefix}inside", "INFO outside"]


def test_another_thread_has_its_own_context(lines: pytest.LogCaptureFixture) -> None:
    with log_context("log:a", Scope.TASK, 1):
        thread = threading.Thread(target=Odd().works)
        thread.start()
        thread.join(10)
    assert lines.text == "INFO inside\n"


def test_a_call_that_works_is_told_before_and_after(lines: pytest.LogCaptureFixture) -> None:
    odd = Odd()
    with log_context("log:a", Scope.TASK, 1):
        assert invoke(odd, odd.works) == 7
    assert lines.text.splitlines() == [
        "TRACE [log:a|task-0|1] About to invoke method Odd.works",
        "INFO [log:a|task-0|1] inside",
        "TRACE [log:a|task-0|1] Finished invoking method Odd.works",
    ]


def test_a_call_that_fails_is_told_before_and_after(lines: pytest.LogCaptureFixture) -> None:
    odd = Odd()
    with pytest.raises(ZeroDivisionError):
        invoke(odd, odd.fails)
    assert lines.messages == ["About to invoke method Odd.fails", "Failed to invoke method Odd.fails"]
