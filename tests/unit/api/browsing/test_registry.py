"""The schema registry, played by an HTTP server that answers as Confluent's API is documented."""

import base64
import io
import json
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import fastavro
import pytest
from pydantic import SecretStr, ValidationError

from api.browsing.payload import Format, Renderer
from api.browsing.registry import AGAIN_MS, AWAY_MS, MOST_BYTES, Registry, RegistryError
from api.settings import SchemaRegistry
from tests.http_server import QuietHandler, running

MONEY = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "long"}]}
FIELDS = [{"name": "name", "type": "string"}, {"name": "sum", "type": "shop.Money"}]
ORDER = {"type": "record", "name": "shop.Order", "fields": FIELDS}


class Double(ThreadingHTTPServer):
    """``answers`` by path: a status and a body; none while ``silent``; what was asked is in ``asked``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[tuple[str, str]] = []
        self.silent = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def schema(self, schema_id: int, schema: object, **more: object) -> None:
        body = json.dumps({"schema": json.dumps(schema), **more}).encode()
        self.answers[f"/schemas/ids/{schema_id}"] = (200, body)


class _Handler(QuietHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Double)
        self.server.asked.append((self.path, self.headers.get("Authorization", "")))
        if self.server.silent:
            return
        unknown = {"error_code": 40403, "message": "Schema not found"}
        status, body = self.server.answers.get(self.path, (404, json.dumps(unknown).encode()))
        self.send(status, body, content_type="application/vnd.schemaregistry.v1+json")


@pytest.fixture
def double() -> Iterator[Double]:
    with running(Double()) as server:
        yield server


def registry(double: Double, now_ms: int = 0, **settings: Any) -> Registry:  # noqa: ANN401
    return Registry(SchemaRegistry(url=double.url, timeout_ms=20_000, **settings), lambda: now_ms)


def framed(schema_id: int, body: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + body


def order() -> bytes:
    stream = io.BytesIO()
    schema = fastavro.parse_schema([MONEY, ORDER])
    fastavro.schemaless_writer(stream, schema, ("shop.Order", {"name": "Ada", "sum": {"cents": 150}}))
    return stream.getvalue()[1:]  # without the branch of the union


def test_avro_is_decoded_with_what_it_refers_to_and_asked_for_once(double: Double) -> None:
    double.schema(7, ORDER, references=[{"name": "shop.Money", "subject": "money/value", "version": 2}])
    money = {"subject": "money/value", "id": 6, "version": 2, "schema": json.dumps(MONEY)}
    double.answers["/subjects/money%2Fvalue/versions/2"] = (200, json.dumps(money).encode())
    renderer = Renderer(1_000, registry(double, username="u", password=SecretStr("p")))
    for _ in range(3):
        shown = renderer.show(framed(7, order()))
        assert (shown.format, shown.schema_id) == (Format.AVRO, 7)
        assert shown.content == {"name": "Ada", "sum": {"cents": 150}}
    assert [path for path, _ in double.asked] == ["/schemas/ids/7", "/subjects/money%2Fvalue/versions/2"]
    assert {auth for _, auth in double.asked} == {f"Basic {base64.b64encode(b'u:p').decode()}"}


def test_json_and_protobuf_of_the_registry_need_no_schema_to_be_seen(double: Double) -> None:
    double.schema(1, {}, schemaType="JSON")
    double.schema(2, 'syntax = "proto3";', schemaType="PROTOBUF")
    renderer = Renderer(1_000, registry(double))
    assert renderer.show(framed(1, b'{"a":1}')).content == {"a": 1}
    for indexes in (b"\x00", b"\x04\x02\x00"):
        shown = renderer.show(framed(2, indexes + b"\x08\x96\x01"))
        assert (shown.format, shown.content) == (Format.PROTOBUF, [{"field": 1, "value": 150}])


ENDLESS = {"type": "array", "items": "null"}
DEEP = '{"type":"array","items":' * 600 + '"int"' + "}" * 600
"""Python reads it, and goes through it no deeper."""


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (None, "does not know the schema"),
        ((500, b"{}"), "answers with status 500"),
        ((302, b""), "answers with status 302"),
        ((200, b"<html>"), "something else than a schema"),
        ((200, b'{"schema": "' + b"x" * MOST_BYTES + b'"}'), "something else than a schema"),
        ((200, b'{"schema": "{\\"type\\": \\"nothing\\"}"}'), "is no Avro schema"),
        (
            (200, json.dumps({"schema": json.dumps(ENDLESS)}).encode()),
            "makes too many values of few bytes",
        ),
        ((200, json.dumps({"schema": DEEP}).encode()), "is no Avro schema: RecursionError"),
    ],
)
def test_what_goes_wrong_is_a_note_at_the_record(
    double: Double, answer: tuple[int, bytes] | None, note: str
) -> None:
    if answer is not None:
        double.answers["/schemas/ids/3"] = answer
    shown = Renderer(1_000, registry(double)).show(framed(3, b"\x02"))
    assert (shown.format, shown.content) == (Format.HEX, "000000000302")
    assert note in shown.note


@pytest.mark.parametrize(
    ("silent", "again_ms", "why"),
    [
        (False, AGAIN_MS, r"^the schema registry does not know the schema$"),
        (True, AWAY_MS, r"^the schema registry does not answer: \w+$"),
    ],
)
def test_a_schema_that_was_not_there_is_asked_for_again_later_and_of_a_silent_registry_none_until_then(
    double: Double, *, silent: bool, again_ms: int, why: str
) -> None:
    now = [0]
    asking = Registry(SchemaRegistry(url=double.url, timeout_ms=20_000), lambda: now[0])
    double.silent = silent
    for moment, asked in ((0, 1), (again_ms - 1, 1), (again_ms, 2)):
        now[0] = moment
        for schema_id in (1, 2, 1) if silent else (1, 1):
            with pytest.raises(RegistryError, match=why):
                asking.schema(schema_id)
        assert len(double.asked) == asked
    double.silent, now[0] = False, 2 * again_ms
    double.schema(1, "string")
    assert asking.schema(1).kind == "AVRO"


def test_a_refusal_that_is_remembered_holds_nothing_of_the_answer(double: Double) -> None:
    asking = Registry(SchemaRegistry(url=double.url, timeout_ms=20_000))
    with pytest.raises(RegistryError):
        asking.schema(1)
    ((remembered, _),) = asking._known.values()
    assert isinstance(remembered, RegistryError)
    assert (remembered.__traceback__, remembered.__context__) == (None, None)


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://", "http://u:p@host"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="must be http"):
        SchemaRegistry(url=url)
