"""What pages are made of: texts, stack traces, sparklines, the line for a terminal."""

import shlex
from datetime import UTC, datetime

import pytest

from api.console import command_line, stack_traces, texts
from api.console.sparklines import HEIGHT, Trend, line
from deadwatch.redrive_request import Said, body
from streaming.redrive.order import OrderRequest, Selection


@pytest.mark.parametrize(
    ("length_ms", "said"),
    [
        (None, "not known"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (59_900, "59.9 s"),
        (60_000, "1 min"),
        (402_000, "6 min 42 s"),
        (7_500_000, "2 h 5 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_durations_as_people_say_them(length_ms: int | None, said: str) -> None:
    assert texts.duration(length_ms) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(None, "null"), (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (38_000_000, "38.0 MB")],
)
def test_sizes_as_people_say_them(count: int | None, said: str) -> None:
    assert texts.size(count) == said


def test_what_cannot_be_seen_is_named_and_what_is_endless_is_cut() -> None:
    assert texts.plain("a\u202eb\x1b[0m\u200bc\td\n") == "a⟨U+202E⟩b⟨U+001B⟩[0m⟨U+200B⟩c\td\n"
    cut = texts.plain("x" * (texts.MAX_CHARS + 1_234))
    assert cut == "x" * texts.MAX_CHARS + " … and 1,234 characters more"


def test_a_time_is_utc_and_says_so() -> None:
    at = datetime(2026, 11, 21, 12, 38, 42, 120_000, tzinfo=UTC)
    named = 'datetime="2026-11-21T12:38:42.120Z" title="2026-11-21 12:38:42 UTC"'
    assert texts.time(at) == f"<time {named}>2026-11-21 12:38 UTC</time>"


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ("\tat com.example.Orders.price(Orders.java:17)", "own"),
        ("\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convert(WorkerSinkTask.java:1)", "library"),
        ("\tat java.base/java.lang.Thread.run(Thread.java:840)", "library"),
        ("\tat app//com.example.Orders.lambda$run$0(Orders.java:3)", "own"),
        ("\t... 12 more", "library"),
        ("Caused by: com.example.NoPriceException: no price", "text"),
        ("\tat first glance this is no frame", "text"),
    ],
)
def test_whose_frame_it_is(frame: str, kind: str) -> None:
    assert [part.kind for part in stack_traces.folded(frame)] == [kind]


def test_neighbours_of_one_kind_are_one_part() -> None:
    trace = "E: m\n\tat java.util.A.b(A.java:1)\n\tat java.util.C.d(C.java:2)\n\tat my.App.e(App.java:3)"
    parts = [(part.kind, len(part.lines)) for part in stack_traces.folded(trace)]
    assert parts == [("text", 1), ("library", 2), ("own", 1)]
    assert stack_traces.is_trace(trace)
    assert not stack_traces.is_trace("it failed at noon (again)")


@pytest.mark.parametrize(
    ("values", "before", "words"),
    [
        ((0, 0), 0, "quiet"),
        ((0, 0), 3, "quiet for an hour"),
        ((1, 2), 0, "began within the hour"),
        ((10, 10), 20, "steady"),
        ((30, 10), 20, "rising: 20 in the hour before"),
        ((1, 1), 20, "falling: 20 in the hour before"),
    ],
)
def test_how_an_hour_compares(values: tuple[int, ...], before: int, words: str) -> None:
    assert Trend(values, before).words == words


def test_a_line_stays_in_its_frame() -> None:
    points = [tuple(map(float, point.split(","))) for point in line((0, 5, 10, 0)).split()]
    assert [x for x, _ in points] == [0, 40, 80, 120]
    assert all(0 < y < HEIGHT for _, y in points)
    assert points[2][1] < points[1][1] < points[0][1]


def test_the_line_for_a_terminal_asks_for_the_same() -> None:
    expression = """message.contains("it's $HOME") && attempts < 3"""
    request = OrderRequest(
        dlq_topic="dlq.orders", selection=Selection(filter=expression), reason="mended; rm -rf /"
    )
    said = shlex.split(command_line.redrive(request))
    assert said[:3] == ["deadwatch", "redrive", "dlq.orders"]
    flags = dict(zip(said[3::2], said[4::2], strict=True))
    meant = body(Said(dlq_topic="dlq.orders", reason=flags["--reason"], expression=flags["--filter"]))
    assert OrderRequest.model_validate(meant) == request


def test_what_was_moved_before_is_asked_for_in_a_terminal_too() -> None:
    usual = {"dlq_topic": "d", "selection": {"all": True}, "reason": "r"}
    assert "--again" not in command_line.redrive(OrderRequest.model_validate(usual))
    request = OrderRequest.model_validate({**usual, "again": True})
    assert "--again" in shlex.split(command_line.redrive(request))
    meant = body(Said(dlq_topic="d", reason="r", everything=True, again=True))
    assert OrderRequest.model_validate(meant) == request


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"kind": "origin"}, None),
        ({"kind": "topic", "topic": "t"}, "topic:t"),
        ({"kind": "retry", "consumergroup": "g"}, "retry:g"),
        ({"kind": "map", "map": {"a": "b", "c": "d"}}, "map:a=b,c=d"),
    ],
)
def test_targets_as_the_command_line_takes_them(target: dict[str, object], said: str | None) -> None:
    request = OrderRequest.model_validate(
        {"dlq_topic": "d", "selection": {"all": True}, "target": target, "reason": "r"}
    )
    words = shlex.split(command_line.redrive(request))
    assert ("--target" in words) == (said is not None)
    if said is not None:
        assert words[words.index("--target") + 1] == said
        meant = body(Said(dlq_topic="d", reason="r", everything=True, target=said))
        assert OrderRequest.model_validate(meant).target == request.target


def test_how_long_it_takes_to_settle_is_said_where_it_is_not_the_usual() -> None:
    usual = {"dlq_topic": "d", "selection": {"all": True}, "reason": "r"}
    assert "--settle-after" not in command_line.redrive(OrderRequest.model_validate(usual))
    request = OrderRequest.model_validate({**usual, "guards": {"settle_window_ms": 20_500}})
    words = shlex.split(command_line.redrive(request))
    said = float(words[words.index("--settle-after") + 1])
    meant = body(Said(dlq_topic="d", reason="r", everything=True, settle_after_s=said))
    assert OrderRequest.model_validate(meant).guards == request.guards
