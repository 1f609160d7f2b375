"""A log record is one line, whatever others have written into it, and names the instance that it is about."""

import json
import logging
import threading
from collections.abc import Callable

import pytest

from deadwatch.runtime.logs import TRACE, LogFormat, Scope, add_context, facts, formatter, invoke, log_context
from tests.tables import named

Line = Callable[..., str]


@pytest.fixture(params=["text", "json"])
def kind(request: pytest.FixtureRequest) -> LogFormat:
    found: LogFormat = request.param
    return found


@pytest.fixture
def line(kind: LogFormat) -> Line:
    writes = formatter("api", kind)

    def write(message: str, *arguments: object, error: Exception | None = None) -> str:
        info = (type(error), error, error.__traceback__) if error else None
        record = logging.LogRecord("a.b", logging.WARNING, "f.py", 1, message, arguments, info)
        record.created, record.msecs = 1_800_000_000.25, 250
        add_context(record)
        return writes.format(record)

    return write


HOSTILE = {
    "a line of its own": "\r\n2027-01-01T00:00:00Z ERROR [api] all is lost",
    "colours": "\x1b[2J\x1b[31mred",
    "eight bits": "\x9b31m",
    "from right to left": "\u202egnp.exe",
    "a line that Unicode calls one": "a\u2028b",
    "the end": "a\x00b",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_others_have_written_stays_in_its_line(line: Line, text: str) -> None:
    written = line("the topic %s is not known", text)
    assert written.isprintable()
    assert "is not known" in written


@pytest.mark.parametrize("kind", ["text"], indirect=True)
def test_text_is_what_it_was(line: Line) -> None:
    with log_context("src", Scope.TASK, 3), facts(request_id="q1", trace_id="t1"):
        written = line("%d records", 7)
    assert written == (
        "2027-01-15T08:00:00.250Z WARNING [api] [src|task-0|3] [request_id=q1 trace_id=t1] 7 records (a.b)"
    )


@pytest.mark.parametrize("kind", ["json"], indirect=True)
def test_json_has_every_part_by_its_name(line: Line) -> None:
    with log_context("src", Scope.TASK, 3), facts(request_id="q1", trace_id="t1"):
        written = line("%d records", 7)
    assert json.loads(written) == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "WARNING",
        "process": "api",
        "logger": "a.b",
        "message": "7 records",
        "context": "[src|task-0|3]",
        "request_id": "q1",
        "trace_id": "t1",
    }


def test_a_stack_is_not_lost(line: Line, kind: LogFormat) -> None:
    with pytest.raises(ValueError, match="invalid literal") as raised:
        int("inside")
    written = line("it failed", error=raised.value)
    trace = json.loads(written)["exception"] if kind == "json" else written
    assert "Traceback" in trace
    assert trace.endswith("ValueError: invalid literal for int() with base 10: 'inside'")


@pytest.mark.parametrize("kind", ["text"], indirect=True)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_others_have_written_moves_nothing_in_a_stack_either(line: Line, text: str) -> None:
    written, *trace = line("it failed", error=ValueError(text)).split("\n")
    assert written.isprintable()
    assert all(one.isprintable() and one.startswith("  ") for one in trace), "none begins like a line of ours"


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
    caplog.handler.addFilter(
        lambda record: not record.name.startswith("opentelemetry")
    )  # of other tests' threads
    caplog.handler.setFormatter(logging.Formatter("%(levelname)s %(context)s%(message)s"))
    return caplog


CONTEXTS = [
    ("an instance that reads", ("log:a", Scope.TASK, 2), "[log:a|task-0|2] "),
    ("an instance that starts others", ("log:*", Scope.CONNECTOR, 1), "[log:*|worker|1] "),
    ("a validation has no number", ("log:a", Scope.VALIDATION, None), "[log:a|validate] "),
]


@pytest.mark.parametrize(("of", "prefix"), named(CONTEXTS))
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


def test_a_call_has_a_line_before_and_after(lines: pytest.LogCaptureFixture) -> None:
    odd = Odd()
    lines.set_level(logging.INFO)
    lines.set_level(TRACE, __name__.rpartition(".")[0])  # as a collector is traced: what its sources are of
    with log_context("log:a", Scope.TASK, 1):
        assert invoke(odd, odd.works) == 7
    with pytest.raises(ZeroDivisionError):
        invoke(odd, odd.fails)
    assert lines.text.splitlines() == [
        "TRACE [log:a|task-0|1] About to invoke method Odd.works",
        "INFO [log:a|task-0|1] inside",
        "TRACE [log:a|task-0|1] Finished invoking method Odd.works",
        "TRACE About to invoke method Odd.fails",
        "TRACE Failed to invoke method Odd.fails",
    ]
