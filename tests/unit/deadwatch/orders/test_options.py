"""A redrive request as options and settings, and back; what is written wrongly is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from deadwatch.orders import texts
from deadwatch.orders.options import OPTIONS, STEPS, add_setting, gathered, next_step, request, spread, words
from deadwatch.orders.order import OrderRequest, Selection
from deadwatch.orders.texts import Kind

REASON = {"reason": "test"}
WORDS: list[tuple[dict[str, Any], str]] = [
    ({"selection": {"all": True}}, "--all"),
    ({"selection": {"offsets": {"0": [1, 2], "3": [4, 5]}}}, "--offsets 0:1-2 --offsets 3:4-5"),
    ({"selection": {"records": [{"partition": 0, "offset": 7}]}, "again": True}, "--record 0:7 --again"),
    ({"selection": {"filter": "a\nb"}}, '--set selection.filter="a\\nb"'),
    ({"selection": {"group": "f"}, "target": {"kind": "retry", "consumergroup": "g"}}, "--target retry:g"),
    ({"target": {"kind": "map", "map": {"a": "b", "c": "d"}}}, "--target map:a=b,c=d"),
    ({"target": {"kind": "topic", "topic": "t"}, "engine": "spark"}, "--target topic:t --engine spark"),
    ({"limits": {"records_per_second": None, "max_records": 9}}, "--rate none --max-records 9"),
    ({"limits": {"bytes_per_second": 7}}, "--set limits.bytes_per_second=7"),
    ({"drop_headers": ["x", "y-*"]}, "--drop-header x --drop-header y-*"),
    ({"drop_headers": []}, "--set drop_headers=[]"),
    ({"guards": {"settle_window_ms": 1_500}}, "--settle-after 1.5"),
]


@pytest.mark.parametrize(("changes", "expected"), WORDS, ids=[row[1] for row in WORDS])
def test_a_request_is_words_and_the_words_are_the_request(changes: dict[str, Any], expected: str) -> None:
    selection = {"selection": {"all": True}}
    asked = OrderRequest.model_validate({"dlq_topic": "-t", **REASON, **selection, **changes})
    written = words(asked)
    assert expected in " ".join(written)
    assert written[-2:] == ["--", "-t"]
    given: dict[str, list[str]] = {}
    by_name = {option.name: option for option in OPTIONS}
    rest = iter(written[:-2])
    for name in rest:
        is_switch = name != "--set" and by_name[name].kind is texts.SWITCH
        given.setdefault(name, []).append("true" if is_switch else next(rest))
    settings = given.pop("--set", [])
    document = request("-t", {name: "\n".join(parts) for name, parts in given.items()}, settings)
    assert document.pop("dry_run") is True
    assert OrderRequest.model_validate(document) == asked.model_copy(update={"dry_run": True})


def test_a_topic_comes_first_unless_it_looks_like_an_option() -> None:
    asked = OrderRequest(dlq_topic="dlq.t", selection=Selection(all=True), reason="test")
    assert words(asked) == ["dlq.t", "--all", "--reason", "test"]
    assert "limits.max_in_flight" in spread(asked, (), defaults=True)
    assert not STEPS & spread(asked, (), defaults=True).keys()


def test_the_order_of_a_dry_run_moves_what_that_has_shown() -> None:
    tried = {"plan": {"at_most": 7, "to_move": 5}, "cut_off": {"0": 9, "1": 0}, "dlq_topic_id": "a"}
    step = next_step(tried)
    assert step == {"dry_run": False, "confirm": 7, "cut_off": {0: 9, 1: 0}, "dlq_topic_id": "a"}
    assert step.keys() == STEPS


KINDS: list[tuple[Kind, str, object]] = [
    (texts.NUMBER, "50", 50.0),
    (texts.NUMBER, "0.5", 0.5),
    (texts.NUMBER, "none", None),
    (texts.WHOLE, "50", 50),
    (texts.SECONDS, "1.25", 1_250),
    (texts.SECONDS, "60", 60_000),
    (texts.TIME, "2026-11-21T12:00:00Z", "2026-11-21T12:00:00Z"),
    (texts.SWITCH, "false", False),
    (texts.LINES, "a\nb", ["a", "b"]),
    (texts.INTERVALS, "0:10-20", {"0": [10, 20]}),
    (texts.PLACES, "0:42\n1:7", [{"partition": 0, "offset": 42}, {"partition": 1, "offset": 7}]),
    (texts.PAIRS, "a=b\nc=d", {"a": "b", "c": "d"}),
    (texts.TARGET, "origin", {"kind": "origin"}),
    (texts.TARGET, "topic:t", {"kind": "topic", "topic": "t"}),
    (texts.TARGET, "retry:g", {"kind": "retry", "consumergroup": "g"}),
    (texts.TARGET, "map:a=b", {"kind": "map", "map": {"a": "b"}}),
]


@pytest.mark.parametrize(("kind", "text", "value"), KINDS, ids=[row[1] for row in KINDS])
def test_a_value_has_one_text(kind: Kind, text: str, value: object) -> None:
    assert (kind.read(text), kind.write(value), kind.carries(value)) == (value, text, True)


UNREADABLE = [
    (texts.NUMBER, "inf"),
    (texts.NUMBER, "x"),
    (texts.WHOLE, "1.5"),
    (texts.SECONDS, "nan"),
    (texts.SECONDS, "1e-99999999999999999999"),
    (texts.SWITCH, "yes"),
    (texts.INTERVALS, "0:1-2\n0:3-4"),
    (texts.INTERVALS, "0:1-"),
    (texts.PLACES, "7"),
    (texts.PAIRS, "a"),
    (texts.PAIRS, "a="),
    (texts.PAIRS, "=b"),
    (texts.PAIRS, "a=b=c"),
    (texts.PAIRS, "a=b\na=c"),
    *((texts.TARGET, text) for text in ("topic:", "retry:", "map:", "map:a", "map:a=b,a=c", "origin:x", "x")),
]


@pytest.mark.parametrize(("kind", "text"), UNREADABLE, ids=[repr(row[1]) for row in UNREADABLE])
def test_another_text_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- of whatever text
        kind.read(text)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (texts.TEXT, " a"),
        (texts.TEXT, ""),
        (texts.TEXT, "a\tb"),
        (texts.LINES, ["a", " b"]),
        (texts.WHOLE, "x"),
    ],
)
def test_what_a_text_does_not_express_is_not_carried(kind: Kind, value: object) -> None:
    assert not kind.carries(value)


@pytest.mark.parametrize(
    ("text", "read"), [("T12:00:00", "T12:00:00Z"), ("T12:00:00+01:00", "T12:00:00+01:00")]
)
def test_a_time_is_utc_unless_it_names_a_zone(text: str, read: str) -> None:
    assert texts.TIME.read(f"2026-11-21{text}") == f"2026-11-21{read}"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["reason"], "a setting is PATH=VALUE"),
        (["Reason=x"], "a setting is PATH=VALUE"),
        (["a.b.c=x"], "a setting is PATH=VALUE"),
        (["dry_run=false"], "cannot be set"),
        (["dlq_topic=x"], "dlq_topic is given twice"),
        (["limits=5", "limits.max_records=5"], "limits.max_records is given twice"),
        (['limits={"max_records": 1}', "limits.max_records=5"], "limits.max_records is given twice"),
    ],
)
def test_a_setting_that_is_wrong_is_refused(settings: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        request("t", {}, settings)


def test_an_option_that_is_wrong_says_what_it_takes() -> None:
    with pytest.raises(ValueError, match="--rate takes a number, as 50, or none, not 'fast'"):
        request("t", {"--rate": "fast"}, [])


def test_a_setting_is_json_or_else_a_text() -> None:
    fields: dict[str, Any] = {}
    for text in ("reason = because", "limits.max_records=null", "a=" + "[" * 100_000):
        add_setting(fields, text)
    assert (fields["reason"], fields["limits.max_records"], fields["a"][0]) == ("because", None, "[")
    assert gathered({"a": {"x": 1}, "a.b": 2}) == {"a": {"x": 1, "b": 2}}


@pytest.mark.parametrize(
    ("selection", "why"),
    [
        ({}, "say one of"),
        ({"all": True, "group": "f"}, "say one of"),
        ({"from": "2026-11-21T12:00:00"}, "should have timezone info"),
        ({"to": "2026-11-21T12:00:00"}, "should have timezone info"),
        ({"from": "2026-11-21T12:00:00Z", "to": "2026-11-21T12:00:00Z"}, "from must be before to"),
        ({"offsets": {0: (2, 2)}}, "from below to"),
        ({"offsets": {0: (-1, 2)}}, "greater than or equal to 0"),
    ],
)
def test_a_selection_is_one_that_can_be_made(selection: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Selection.model_validate(selection)
