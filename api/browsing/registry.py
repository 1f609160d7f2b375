"""Schemas by their ids from a registry with Confluent's API (``GET /schemas/ids/{id}``), and Avro decoded by
them.

A schema never changes, so it is asked for once; one that cannot be read is asked for again after 30 s. A
registry that does not answer is asked for no schema for 10 s: a page of records waits for it once.
Answers are bounded in time and size; whatever goes wrong is one sentence for the reader of the record.

Avro bytes come from whoever may write to a dead letter topic. Fastavro's compiled reader ends the process
when they nest deeper than its stack; its reader in Python raises instead, and is the one that is used. What
takes no bytes can claim any length: ``may_be_endless`` says which schemas are not decoded with.
"""

import io
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import quote
from uuid import UUID

import httpx2
from fastavro import _read_py
from fastavro.schema import SchemaParseException, parse_schema
from pydantic import BaseModel, Field, ValidationError

from api.settings import SchemaRegistry
from deadwatch.runtime.clock import monotonic_ms
from deadwatch.runtime.http_client import client

MOST_SCHEMAS: Final = 1_000
MOST_BYTES: Final = 1 << 20
MOST_REFERENCES: Final = 50
AGAIN_MS: Final = 30_000
AWAY_MS: Final = 10_000


class RegistryError(Exception):
    """A schema cannot be read; the text says why, without address and password."""


class _AwayError(RegistryError):
    """The registry does not answer, whatever it is asked."""


class _Reference(BaseModel):
    name: str = ""
    subject: str
    version: int


class _Answer(BaseModel):
    """The registry's answer for a schema; without a type it is Avro."""

    schema_: str = Field(alias="schema")
    schemaType: Literal["AVRO", "JSON", "PROTOBUF"] = "AVRO"  # noqa: N815 -- the API's name
    references: list[_Reference] = []


@dataclass(frozen=True, slots=True)
class Schema:
    """``avro`` is what fastavro reads by; None for other types."""

    kind: str
    avro: Any = None


class Registry:
    """Fetches schemas and caches them; used by many threads. ``now_ms`` is a monotonic clock."""

    def __init__(self, settings: SchemaRegistry, now_ms: Callable[[], int] = monotonic_ms) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._lock = threading.Lock()
        self._known: OrderedDict[int, tuple[Schema | RegistryError, int]] = OrderedDict()
        """Schemas, and errors with the time from which the schema is asked for again."""
        self._away, self._away_until_ms = "", 0
        self._client = client(settings.timeout_ms, MOST_BYTES, ca_location=settings.ca_location)

    def schema(self, schema_id: int) -> Schema:
        """The schema of this id. Raises ``RegistryError``."""
        with self._lock:
            found, again_ms = self._known.get(schema_id, (None, 0))
        if found is None or (isinstance(found, RegistryError) and self._now_ms() >= again_ms):
            try:
                found = self._asked(schema_id)
            except _AwayError:
                raise
            except RegistryError as error:
                found = RegistryError(str(error))  # as it was raised it would hold the whole answer
            with self._lock:
                self._known[schema_id] = found, self._now_ms() + AGAIN_MS
                while len(self._known) > MOST_SCHEMAS:
                    self._known.popitem(last=False)
        if isinstance(found, Schema):
            return found
        raise RegistryError(str(found))

    def _asked(self, schema_id: int) -> Schema:
        answer = self._get(f"/schemas/ids/{schema_id}")
        if answer.schemaType != "AVRO":
            return Schema(answer.schemaType)
        named: dict[str, Any] = {}
        try:
            self._references(answer, named, set())
            parsed = parse_schema(json.loads(answer.schema_), named_schemas=named)
            endless = may_be_endless(parsed, named)
        except (SchemaParseException, ValueError, TypeError, KeyError, RecursionError) as error:
            raise RegistryError(f"schema {schema_id} is no Avro schema: {type(error).__name__}") from error
        if endless:
            raise RegistryError(f"schema {schema_id} makes too many values of few bytes: not decoded")
        return Schema("AVRO", parsed)

    def _references(self, answer: _Answer, named: dict[str, Any], seen: set[tuple[str, int]]) -> None:
        """Parse what the schema builds on, before the schema itself."""
        for subject, version in ((reference.subject, reference.version) for reference in answer.references):
            if (subject, version) in seen:
                continue
            seen.add((subject, version))
            if len(seen) > MOST_REFERENCES:
                raise RegistryError(f"the schema refers to more than {MOST_REFERENCES} others")
            other = self._get(f"/subjects/{quote(subject, safe='')}/versions/{version}")
            self._references(other, named, seen)
            parse_schema(json.loads(other.schema_), named_schemas=named)

    def _get(self, path: str) -> _Answer:
        if self._now_ms() < self._away_until_ms:
            raise _AwayError(self._away)
        settings = self._settings
        auth = None
        if settings.username is not None:
            password = settings.password.get_secret_value() if settings.password else ""
            auth = httpx2.BasicAuth(settings.username, password)
        accept = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        try:
            answer = self._client.get(settings.url + path, auth=auth, headers=accept)
        except httpx2.HTTPError as error:
            self._away = f"the schema registry does not answer: {type(error).__name__}"
            self._away_until_ms = self._now_ms() + AWAY_MS
            raise _AwayError(self._away) from error
        if answer.status_code == HTTPStatus.NOT_FOUND:
            raise RegistryError("the schema registry does not know the schema")
        if answer.status_code != HTTPStatus.OK:
            raise RegistryError(f"the schema registry answers with status {answer.status_code}")
        try:
            return _Answer.model_validate_json(answer.content)
        except ValidationError:
            raise RegistryError("the schema registry answers with something else than a schema") from None


MOST_DEPTH: Final = 64
MOST_VALUES: Final = 8
"""For each byte of a datum: what takes no byte is a value too."""
MOST_FREE: Final = 32
"""Values of a record beyond those of its bytes."""
MIN_LONG, MAX_LONG = -(1 << 63), (1 << 63) - 1
"""Avro's numbers; the decoder reads longer ones, which Python may refuse to write down."""


class AvroError(Exception):
    """The bytes cannot be shown; the text says why in one sentence."""


def decode_avro(raw: bytes, schema: Any) -> Any:  # noqa: ANN401 -- what Avro can say
    """The datum in types of JSON: bytes are hex, times ISO 8601, decimals text. Raises ``AvroError``."""
    stream = io.BytesIO(raw)
    try:
        datum = _read_py.schemaless_reader(stream, schema, None)
    except RecursionError:
        raise AvroError(f"the record is nested more than {MOST_DEPTH} levels deep") from None
    except Exception as error:  # noqa: BLE001 -- whatever broken bytes make a decoder raise
        raise AvroError(f"does not fit its schema: {type(error).__name__}") from None
    if stream.read(1):
        raise AvroError("does not fit its schema: bytes are left over")
    return _plain(datum, MOST_DEPTH)


def _plain(datum: object, levels: int) -> object:
    if levels == 0:
        raise AvroError(f"the record is nested more than {MOST_DEPTH} levels deep")
    if isinstance(datum, dict):
        return {str(name): _plain(value, levels - 1) for name, value in datum.items()}
    if isinstance(datum, list):
        return [_plain(value, levels - 1) for value in datum]
    if isinstance(datum, bytes):
        return datum.hex()
    if isinstance(datum, float) and not -float("inf") < datum < float("inf"):
        return str(datum)
    if isinstance(datum, datetime | date | time):
        return datum.isoformat()
    if isinstance(datum, int) and not MIN_LONG <= datum <= MAX_LONG:
        raise AvroError("does not fit its schema: a number of more than 64 bits")
    return str(datum) if isinstance(datum, Decimal | UUID) else datum


def may_be_endless(schema: object, named: Mapping[str, Any]) -> bool:
    """Whether a few bytes may stand for more values than any memory holds.

    So may an array whose items are more values than their bytes allow, and a record that is many more.
    """
    surplus = partial(_surplus, named, {"null": 1})
    arrays = (one for one in _types([schema, *named.values()]) if one.get("type") == "array")
    bounds = [*((one["items"], 0) for one in arrays), *((name, MOST_FREE) for name in named)]
    return any(surplus(one) > most for one, most in bounds)


def _types(schema: object) -> Iterator[Mapping[str, Any]]:
    """Every type that is written out within the schema."""
    if isinstance(schema, list):
        for inner in schema:
            yield from _types(inner)
    elif isinstance(schema, Mapping):
        yield schema
        fields = [field["type"] for field in schema.get("fields", ())]
        yield from _types([*fields, schema.get("items"), schema.get("values")])


def _surplus(named: Mapping[str, Any], known: dict[str, int], schema: object) -> int:
    """How many values a datum of the schema may be beyond ``MOST_VALUES`` for each byte, its arrays empty.

    ``known`` holds it of names; of one that is being looked at it is that of a value without bytes.
    """
    surplus = partial(_surplus, named, known)
    if isinstance(schema, str):
        if schema not in known:
            known[schema] = 1
            known[schema] = surplus(named.get(schema))
        return known[schema]
    if isinstance(schema, list):
        return max(map(surplus, schema), default=0) - MOST_VALUES
    if not isinstance(schema, Mapping):
        return 1 - MOST_VALUES
    if schema["type"] in {"record", "error"}:
        return 1 + sum(surplus(field["type"]) for field in schema["fields"])
    least_bytes: int = schema["size"] if schema["type"] == "fixed" else schema["type"] != "null"
    return 1 - MOST_VALUES * least_bytes
