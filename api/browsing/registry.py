"""Schemas by their ids, from a registry with Confluent's API (``GET /schemas/ids/{id}``).

A schema never changes, so it is asked for once; one that cannot be had is asked for again after a while.
Answers are bounded in time and size; whatever goes wrong is one sentence for the reader of the record.
"""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

import httpx2
from fastavro.schema import SchemaParseException, parse_schema
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from api.browsing.avro import may_be_endless
from collector.sources.http_client import client

MOST_SCHEMAS: Final = 1_000
MOST_BYTES: Final = 1 << 20
MOST_REFERENCES: Final = 50
AGAIN_MS: Final = 30_000


class SchemaRegistry(BaseModel):
    """How to reach the registry."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(description="HTTP(S) address; a path is kept.", examples=["http://127.0.0.1:8081"])
    username: str | None = Field(None, description="For basic authentication.")
    password: SecretStr | None = None
    ca_location: Path | None = Field(None, description="PEM file of the authorities that sign its address.")
    timeout_ms: int = Field(2_000, ge=10, description="Of one question.")

    @field_validator("url")
    @classmethod
    def _refuse_other_urls(cls, url: str) -> str:
        parsed = httpx2.URL(url)
        if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.userinfo:
            raise ValueError("must be http(s)://HOST…; name and password are settings of their own")
        return url.rstrip("/")


def monotonic_ms() -> int:
    """A clock that only ever grows."""
    return time.monotonic_ns() // 1_000_000


class RegistryError(Exception):
    """Why a schema cannot be had, in a sentence without address and password."""


class _Reference(BaseModel):
    name: str = ""
    subject: str
    version: int


class _Answer(BaseModel):
    """What the API tells of a schema; Avro is its unspoken type."""

    schema_: str = Field(alias="schema")
    schemaType: Literal["AVRO", "JSON", "PROTOBUF"] = "AVRO"  # noqa: N815 -- the API's name
    references: list[_Reference] = []


@dataclass(frozen=True, slots=True)
class Schema:
    """``avro`` is what fastavro reads by; None for other types."""

    kind: str
    avro: Any = None


class Registry:
    """Asks and remembers; may be used by several threads. ``now_ms`` only ever grows."""

    def __init__(self, settings: SchemaRegistry, now_ms: Callable[[], int] = monotonic_ms) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._lock = threading.Lock()
        self._known: OrderedDict[int, Schema | tuple[str, int]] = OrderedDict()
        self._client = client(settings.timeout_ms, MOST_BYTES, ca_location=settings.ca_location)

    def schema(self, schema_id: int) -> Schema:
        """The schema. Raises ``RegistryError``."""
        with self._lock:
            known = self._known.get(schema_id)
        if isinstance(known, Schema):
            return known
        if known is not None and self._now_ms() < known[1]:
            raise RegistryError(known[0])
        try:
            found: Schema | tuple[str, int] = self._asked(schema_id)
        except RegistryError as error:
            found = (str(error), self._now_ms() + AGAIN_MS)
        with self._lock:
            self._known[schema_id] = found
            while len(self._known) > MOST_SCHEMAS:
                self._known.popitem(last=False)
        if isinstance(found, Schema):
            return found
        raise RegistryError(found[0])

    def _asked(self, schema_id: int) -> Schema:
        answer = self._get(f"/schemas/ids/{schema_id}")
        if answer.schemaType != "AVRO":
            return Schema(answer.schemaType)
        named: dict[str, Any] = {}
        try:
            self._references(answer, named, set())
            parsed = parse_schema(json.loads(answer.schema_), named_schemas=named)
        except (SchemaParseException, ValueError, TypeError, KeyError, RecursionError) as error:
            raise RegistryError(f"schema {schema_id} is no Avro schema: {type(error).__name__}") from error
        if may_be_endless(parsed, named):
            raise RegistryError(f"schema {schema_id} has arrays of items without bytes: not decoded")
        return Schema("AVRO", parsed)

    def _references(self, answer: _Answer, named: dict[str, Any], seen: set[tuple[str, int]]) -> None:
        """Parse what the schema builds on, before the schema itself."""
        for one in answer.references:
            place = (one.subject, one.version)
            if place in seen:
                continue
            seen.add(place)
            if len(seen) > MOST_REFERENCES:
                raise RegistryError(f"the schema refers to more than {MOST_REFERENCES} others")
            other = self._get(f"/subjects/{quote(one.subject, safe='')}/versions/{one.version}")
            self._references(other, named, seen)
            parse_schema(json.loads(other.schema_), named_schemas=named)

    def _get(self, path: str) -> _Answer:
        settings = self._settings
        auth = None
        if settings.username is not None:
            password = settings.password.get_secret_value() if settings.password else ""
            auth = httpx2.BasicAuth(settings.username, password)
        try:
            answer = self._client.get(
                settings.url + path,
                auth=auth,
                headers={"Accept": "application/vnd.schemaregistry.v1+json, application/json"},
            )
        except httpx2.HTTPError as error:
            raise RegistryError(f"the schema registry does not answer: {type(error).__name__}") from error
        if answer.status_code == HTTPStatus.NOT_FOUND:
            raise RegistryError("the schema registry does not know the schema")
        if answer.status_code != HTTPStatus.OK:
            raise RegistryError(f"the schema registry answers with status {answer.status_code}")
        try:
            return _Answer.model_validate_json(answer.content)
        except ValidationError:
            raise RegistryError("the schema registry answers with something else than a schema") from None
