"""What a key or a value is shown as, and what is left of it when it is masked."""

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.answers import answer_of
from api.browsing.payload import Format, Renderer, Shown, View
from api.browsing.records import Payload
from api.browsing.registry import AvroError, decode_avro, may_be_endless
from api.browsing.shown_json import MOST_NAMES
from deadwatch.deadletter.dialects import Dialect, Reading
from deadwatch.deadletter.record import describes_failure

LIMIT = 1_000
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "raw", "type": "bytes"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "tags", "type": {"type": "map", "values": ["null", "double"]}},
    ],
}
ENDLESS = {"type": "array", "items": {"type": "record", "name": "Nothing", "fields": []}}


def record(*fields: Any, name: str = "R") -> Any:  # noqa: ANN401
    named = [{"name": f"f{number}", "type": field} for number, field in enumerate(fields)]
    return {"type": "record", "name": name, "fields": named}


def halves(levels: int) -> Any:  # noqa: ANN401
    """A record of two records of two records..., the last of which holds nothing: 2**levels of them."""
    whole = record()
    for level in range(levels):
        whole = record(whole, whole["name"], name=f"R{level}")
    return whole


DEEP = record(["null", "R"])
renderer = Renderer(LIMIT, None)


def encoded(schema: Any, datum: object) -> bytes:  # noqa: ANN401
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, datum)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("raw", "format_", "content"),
    [
        (None, Format.NULL, None),
        (b'{"a": [1, "x"]}', Format.JSON, {"a": [1, "x"]}),
        (b"17", Format.JSON, 17),
        ("schlüssel 7".encode(), Format.TEXT, "schlüssel 7"),
        (b"", Format.TEXT, ""),
        (b"NaN", Format.TEXT, "NaN"),
        (b"\xff\xfe", Format.HEX, "fffe"),
        (b"bell\x07", Format.HEX, "62656c6c07"),
        (rb'"\ud800"', Format.JSON, r"\ud800"),
        (rb'{"\uDFFF": ["a\ud800"], "b": "\ud83d\ude00"}', Format.JSON, {r"\udfff": [r"a\ud800"], "b": "😀"}),
        (b"[" * 500 + b"]" * 500, Format.TEXT, "[" * 500 + "]" * 500),
        (b"1" * 900, Format.JSON, int("1" * 900)),
    ],
)
def test_a_payload_is_shown_as_what_it_is(raw: bytes | None, format_: Format, content: object) -> None:
    assert renderer.show(raw) == Shown(format_, content)


@pytest.mark.parametrize(
    ("raw", "note"),
    [
        (b'{"id": 1, "id": 2}', "a name that an object has twice would be shown once"),
        (
            b'[{"a": {"ada@example.org": 1, "ada@example.org": 1}}]',
            "a name that an object has twice would be shown once",
        ),
        (rb'{"\ud800": 1, "\\ud800": 2}', "a name that an object has twice would be shown once"),
        (b'{"sum": 12345678901234567.89}', "a number would be rounded"),
        (b"1e999", "a number would be rounded"),
        (b"-1e999", "a number would be rounded"),
        (b"1e-400", "a number would be rounded"),
        (b"0e99999999999999999999", "a number would be rounded"),
        (b"[-" + b"1" * 5_000 + b"]", "a number of more than 4300 digits would not be read"),
    ],
)
def test_json_that_would_be_shown_as_something_else_is_text(raw: bytes, note: str) -> None:
    shown = Renderer(10_000, None).show(raw)
    assert shown == Shown(Format.TEXT, raw.decode(), note=f"shown as text: as JSON, {note}")


@pytest.mark.parametrize(
    ("raw", "content"),
    [
        (
            b'{"id": 1, "name": "Ada", "id": 2}',
            {"id": "<number>", "name": "<text of 3>", "id <3>": "<number>"},
        ),
        (
            b'[{"a": {"ada@example.org": 1, "ada@example.org": 1}}]',
            [{"a": dict.fromkeys(("<name 1>", "<name 2>"), "<number>")}],
        ),
        (
            b'{"id": [{"id": null, "id": true}], "id": "x"}',
            {"id": [{"id": None, "id <2>": "<boolean>"}], "id <2>": "<text of 1>"},
        ),
        (rb'{"\ud800": "\ud800", "\\ud800": 2}', {"<name 1>": "<text of 1>", "<name 2>": "<number>"}),
        (
            b'{"sum": 12345678901234567.89, "ids": [-0, 1e999]}',
            {"sum": "<number>", "ids": ["<number>", "<number>"]},
        ),
        (
            b'{"customer": {"name": "Ada Lovelace", "vip": true, "age": 36, "mail": null},'
            b' "by_mail": {"ada@example.org": 1, "4111111111111111": 2}, "lines": ["secret", 3.5]}',
            {
                "customer": {"name": "<text of 12>", "vip": "<boolean>", "age": "<number>", "mail": None},
                "by_mail": {"<name 1>": "<number>", "<name 2>": "<number>"},
                "lines": ["<text of 6>", "<number>"],
            },
        ),
        (b"1" * 5_000, "<number>"),
        (b"[" * 65 + b"]" * 65, None),
        (b'{"a":' * 65 + b"1" + b"}" * 65, None),
    ],
)
def test_masked_it_keeps_its_structure_and_every_field_but_no_value(raw: bytes, content: object) -> None:
    shown = Renderer(10_000, None).show(raw, masks=True)
    assert shown == Shown(Format.TEXT if content is None else Format.JSON, content)


@pytest.mark.parametrize(
    "raw", [b"0.1", b"1.10", b"-0.0", b"-0", b"1E5", b"1e23", b"5e-324", b"1.7976931348623157e308"]
)
def test_a_number_that_keeps_its_digits_is_json(raw: bytes) -> None:
    shown = renderer.show(raw)
    assert (shown.format, repr(shown.content)) == (Format.JSON, repr(float(raw)))


def test_a_long_payload_is_cut_and_says_so() -> None:
    shown = renderer.show("ü".encode() * LIMIT)
    assert (shown.format, shown.content, shown.cut) == (Format.TEXT, "ü" * (LIMIT // 2), True)
    assert shown.note == "2000 bytes: the first 1000 are shown"
    odd = renderer.show(b"x" + "ü".encode() * LIMIT)
    assert odd.content == "x" + "ü" * (LIMIT // 2 - 1)


def test_the_wire_format_is_recognised_without_a_registry() -> None:
    shown = renderer.show(b"\x00\x00\x00\x00\x07\x02")
    assert (shown.format, shown.schema_id, shown.content) == (Format.HEX, 7, "000000000702")
    assert "set schema_registry" in shown.note


def test_protobuf_is_shown_by_field_numbers() -> None:
    shown = renderer.show(b"\x08\x96\x01\x12\x07testing\x1a\x02\xff\xfe", View.PROTOBUF)
    assert shown.content == [
        {"field": 1, "value": 150},
        {"field": 2, "value": "testing"},
        {"field": 3, "value": {"hex": "fffe"}},
    ]
    hidden = renderer.show(b"\x08\x96\x01\x12\x07testing\x1a\x02\xff\xfe", View.PROTOBUF, masks=True)
    values = [field["value"] for field in hidden.content]
    assert values == ["<number>", "<text of 7>", {"hex": "<text of 4>"}]
    assert renderer.show(b"\xff", View.PROTOBUF).note == "is no Protobuf message"


def test_of_a_message_with_many_fields_the_first_are_shown_and_the_rest_is_counted() -> None:
    fields, large = b"\x08\x01" * (MOST_NAMES + 2), Renderer(10_000, None)
    shown = large.show(fields, View.PROTOBUF)
    assert shown.cut
    assert shown.content == [*[{"field": 1, "value": 1}] * MOST_NAMES, "<2 more>"]
    assert large.show(fields, View.PROTOBUF, masks=True).content == [
        *[{"field": 1, "value": "<number>"}] * MOST_NAMES,
        "<2 more>",
    ]
    whole = large.show(b"\x08\x01" * MOST_NAMES, View.PROTOBUF)
    assert (len(whole.content), whole.cut) == (MOST_NAMES, False)


@settings(max_examples=30)
@given(raw=st.binary(max_size=300), view=st.sampled_from(View))
def test_any_bytes_can_be_shown_and_masked(raw: bytes, view: View) -> None:
    for shown in (renderer.show(raw, view), renderer.show(raw, view, masks=True), renderer.header(raw)):
        json.dumps(shown.content).encode("ascii")
        assert answer_of(Payload, shown, size_bytes=1, masked=False).model_dump_json()


@pytest.mark.parametrize("raw", [b"plain text", b"\xff\x00", b"x" * 5_000])
def test_of_text_and_bytes_nothing_stays(raw: bytes) -> None:
    assert renderer.show(raw, masks=True).content is None


def test_headers_of_the_failure_are_open_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ("__connect.errors.topic", "kafka_dlt-exception-message", "deadwatch.redrive.attempts")
    for name in (*ours, "kafka_exception-fqcn"):
        assert describes_failure(name)
    assert not describes_failure("tenant")
    assert not describes_failure("x-failure")
    own = Dialect(name="own", message="x-failure")
    monkeypatch.setattr("deadwatch.deadletter.dialects._readings", [Reading(dialects=(own,))])
    assert describes_failure("x-failure")


def test_avro_becomes_what_json_can_carry() -> None:
    parsed = fastavro.parse_schema(ORDER)
    same = {"id": 1, "name": "Ada", "tags": {"a": 0.5, "b": None}}
    datum = {**same, "raw": b"\x01", "at": 0, "sum": Decimal("1.50")}
    shown = {**same, "raw": "01", "at": "1970-01-01T00:00:00+00:00", "sum": "1.50"}
    assert decode_avro(encoded(parsed, datum), parsed) == shown


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "does not fit its schema: EOFError"),
        (b"\x02" * 100_000 + b"\x00", "nested more than 64 levels deep"),
        (b"\x02" * 100 + b"\x00", "nested more than 64 levels deep"),
        (b"\x00\x00", "bytes are left over"),
        (b"\x09", "does not fit its schema"),
    ],
)
def test_broken_avro_is_one_sentence(raw: bytes, reason: str) -> None:
    with pytest.raises(AvroError, match=reason):
        decode_avro(raw, fastavro.parse_schema(DEEP))


@pytest.mark.parametrize("length", [10, 2_500])
def test_a_number_of_more_than_64_bits_is_none(length: int) -> None:
    with pytest.raises(AvroError, match="does not fit its schema: a number of more than 64 bits"):
        decode_avro(b"\xff" * length + b"\x01", fastavro.parse_schema({"type": "long"}))


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_a_number_of_64_bits_is_shown(number: int) -> None:
    parsed = fastavro.parse_schema({"type": "long"})
    assert decode_avro(encoded(parsed, number), parsed) == number


@pytest.mark.parametrize(
    ("schema", "endless"),
    [
        (ORDER, False),
        (DEEP, False),
        (ENDLESS, True),
        ({"type": "array", "items": "null"}, True),
        ({"type": "array", "items": ["null"]}, False),
        ({"type": "map", "values": ENDLESS}, True),
        ({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}, True),
        (record(["null", ENDLESS]), True),
        (halves(4), False),
        (halves(5), True),
        (halves(40), True),
        ({"type": "array", "items": ["null", halves(40)]}, True),
        ({"type": "array", "items": record("long", "int", *["null"] * 13)}, False),
        ({"type": "array", "items": record("long", "int", *["null"] * 14)}, True),
        (record("long", *["null"] * 38), False),
        (record("long", *["null"] * 39), True),
        (record("long", *[["null", {"type": "null"}]] * 40), False),
    ],
)
def test_a_schema_by_which_a_few_bytes_could_claim_any_length_is_found(
    schema: dict[str, Any], endless: bool
) -> None:
    named: dict[str, Any] = {}
    assert may_be_endless(fastavro.parse_schema(schema, named_schemas=named), named) is endless
