"""What pages are made of: texts, stack traces, sparklines."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from api.console import rendering
from api.console.views.overview import LINE_HEIGHT, Trend, line
from api.routes.tokens import TokenRequest


def test_durations_and_sizes_as_people_write_them() -> None:
    durations = {
        None: "not known",
        0: "0 ms",
        999: "999 ms",
        1_000: "1.0 s",
        59_900: "59.9 s",
        60_000: "1 min",
        402_000: "6 min 42 s",
        7_500_000: "2 h 5 min",
        90_000_000: "1 d 1 h",
    }
    assert {length_ms: rendering.duration(length_ms) for length_ms in durations} == durations
    sizes = {None: "null", 0: "0 B", 999: "999 B", 1_000: "1.0 kB", 38_000_000: "38.0 MB"}
    assert {count: rendering.size(count) for count in sizes} == sizes


def test_a_number_and_its_noun_agree() -> None:
    nouns = {0: "0 batches", 1: "1 batch", 1_200: "1,200 batches"}
    assert {count: rendering.counted(count, "batch", "batches") for count in nouns} == nouns
    assert [rendering.counted(count, "record") for count in (1, 2)] == ["1 record", "2 records"]


def test_an_error_is_a_sentence() -> None:
    texts = {
        "": "",
        "the session has ended": "The session has ended.",
        "filter, line 1: did you mean attempts?": "Filter, line 1: did you mean attempts?",
        "orders is not a dead letter topic": "orders is not a dead letter topic.",
        "Input should be 1.": "Input should be 1.",
    }
    assert {text: rendering.sentence(text) for text in texts} == texts
    with pytest.raises(ValidationError) as refused:
        TokenRequest.model_validate({"name": "a", "role": "king"})
    assert rendering.validation_text(refused.value.errors(), "field") == (
        "The field role is not valid: input should be 'viewer', 'operator' or 'admin'."
    )


def test_what_cannot_be_seen_is_named_and_what_is_endless_is_cut() -> None:
    assert rendering.plain("a\u202eb\x1b[0m\u200bc\td\n") == "a⟨U+202E⟩b⟨U+001B⟩[0m⟨U+200B⟩c\td\n"
    cut = rendering.plain("x" * (rendering.MAX_CHARS + 1_234))
    assert cut == "x" * rendering.MAX_CHARS + " … and 1,234 characters more"


def test_a_time_is_utc_and_says_so() -> None:
    at = datetime(2026, 11, 21, 12, 38, 42, 120_000, tzinfo=UTC)
    named = 'datetime="2026-11-21T12:38:42.120Z" title="2026-11-21 12:38:42 UTC"'
    assert rendering.time(at) == f"<time {named}>2026-11-21 12:38 UTC</time>"


def test_whose_frame_it_is() -> None:
    frames = {
        "\tat com.example.Orders.price(Orders.java:17)": "own",
        "\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convert(WorkerSinkTask.java:1)": "library",
        "\tat java.base/java.lang.Thread.run(Thread.java:840)": "library",
        "\tat app//com.example.Orders.lambda$run$0(Orders.java:3)": "own",
        "\t... 12 more": "library",
        "Caused by: com.example.NoPriceException: no price": "text",
        "\tat first glance this is no frame": "text",
    }
    assert {frame: part.kind for frame in frames for part in rendering.folded(frame)} == frames


def test_neighbours_of_one_kind_are_one_part() -> None:
    trace = "E: m\n\tat java.util.A.b(A.java:1)\n\tat java.util.C.d(C.java:2)\n\tat my.App.e(App.java:3)"
    parts = [(part.kind, len(part.lines)) for part in rendering.folded(trace)]
    assert parts == [("text", 1), ("library", 2), ("own", 1)]
    assert rendering.is_trace(trace)
    assert not rendering.is_trace("it failed at noon (again)")


def test_how_an_hour_compares() -> None:
    hours = {
        ((0, 0), 0): "quiet",
        ((0, 0), 3): "quiet for an hour",
        ((1, 2), 0): "began within the hour",
        ((10, 10), 20): "steady",
        ((30, 10), 20): "rising: 20 in the hour before",
        ((1, 1), 20): "falling: 20 in the hour before",
    }
    assert {(values, before): Trend(values, before).words for values, before in hours} == hours


def test_a_line_stays_in_its_frame() -> None:
    points = [tuple(map(float, point.split(","))) for point in line((0, 5, 10, 0, 0)).split()]
    assert [x for x, _ in points] == [0, 30, 60, 90, 120]
    assert all(0 < y < LINE_HEIGHT for _, y in points)
    assert points[2][1] < points[1][1] < points[0][1]
    assert line((0, 5, 10, 0)) == line((0, 5, 10)), "the newest step has only begun"
