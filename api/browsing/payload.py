"""What a key or a value is, as something that can be shown: JSON, Avro, Protobuf, text or bytes in hex.

Nothing here fails: what cannot be read as one thing is shown as the next, down to hex, and says why.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from api.browsing.avro import AvroError, decoded
from api.browsing.registry import Registry, RegistryError

MAGIC: Final = 0
ID_BYTES: Final = 4
MOST_DEPTH: Final = 64
MOST_INDEXES: Final = 32


class Format(StrEnum):
    """How a payload is shown."""

    NULL = "null"
    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    TEXT = "text"
    HEX = "hex"


class View(StrEnum):
    """What the reader wants to see: what it is, or the bytes in a fixed way."""

    AUTO = "auto"
    PROTOBUF = "protobuf"
    TEXT = "text"
    HEX = "hex"


@dataclass(frozen=True, slots=True)
class Shown:
    """A payload: ``content`` is JSON of any kind for the structured formats and a text for text and hex.

    ``schema_id`` is that of the registry's wire format, ``note`` why it is not shown as what it is, ``cut``
    whether the end is missing.
    """

    format: Format
    content: Any
    schema_id: int | None = None
    note: str = ""
    cut: bool = False


class Renderer:
    """Shows payloads up to ``most_bytes``; a registry decodes Avro."""

    def __init__(self, most_bytes: int, registry: Registry | None) -> None:
        self._most_bytes, self._registry = most_bytes, registry

    def show(self, raw: bytes | None, view: View = View.AUTO) -> Shown:
        """The payload as it is asked for."""
        if raw is None:
            return Shown(Format.NULL, None)
        if len(raw) > self._most_bytes:
            return self._beginning(raw, view)
        if view is View.HEX:
            return Shown(Format.HEX, raw.hex())
        if view is View.TEXT:
            return Shown(Format.TEXT, raw.decode(errors="replace"))
        if view is View.PROTOBUF:
            return _protobuf(_after_indexes(raw[1 + ID_BYTES :]) if _is_framed(raw) else raw)
        return self._framed(raw) if _is_framed(raw) else plain(raw)

    def header(self, raw: bytes | None) -> Shown:
        """A header's value: text where it is one, else hex."""
        if raw is None:
            return Shown(Format.NULL, None)
        if len(raw) > self._most_bytes:
            return self._beginning(raw, View.TEXT)
        text = _text(raw)
        return Shown(Format.HEX, raw.hex()) if text is None else Shown(Format.TEXT, text)

    def _beginning(self, raw: bytes, view: View) -> Shown:
        beginning = raw[: self._most_bytes]
        note = f"{len(raw)} bytes: the first {self._most_bytes} are shown"
        text = None if view is View.HEX else _text(beginning, cut=True)
        if text is None:
            return Shown(Format.HEX, beginning.hex(), note=note, cut=True)
        return Shown(Format.TEXT, text, note=note, cut=True)

    def _framed(self, raw: bytes) -> Shown:
        """A payload in the registry's wire format: a zero, the schema's id, the data."""
        schema_id = int.from_bytes(raw[1 : 1 + ID_BYTES], "big")
        body = raw[1 + ID_BYTES :]
        if self._registry is None:
            note = "looks like a schema registry's wire format: set schema_registry to see it decoded"
            return Shown(Format.HEX, raw.hex(), schema_id, note)
        try:
            schema = self._registry.schema(schema_id)
            if schema.kind == "AVRO":
                return Shown(Format.AVRO, decoded(body, schema.avro), schema_id)
        except (RegistryError, AvroError) as error:
            return Shown(Format.HEX, raw.hex(), schema_id, str(error))
        shown = plain(body) if schema.kind == "JSON" else _protobuf(_after_indexes(body))
        return Shown(shown.format, shown.content, schema_id, shown.note)


def plain(raw: bytes) -> Shown:
    """Bytes without a schema: JSON, else text, else hex."""
    text = _text(raw)
    if text is None:
        return Shown(Format.HEX, raw.hex())
    try:
        content = json.loads(text, parse_constant=_refuse)
        if _depth_within(content, MOST_DEPTH):
            return Shown(Format.JSON, content)
    except (ValueError, RecursionError):
        pass
    return Shown(Format.TEXT, text)


def _text(raw: bytes, *, cut: bool = False) -> str | None:
    """As text, where it is one that can be printed; the last character may have been cut through."""
    for end in range(len(raw), len(raw) - (4 if cut else 1), -1):
        try:
            text = raw[:end].decode()
        except UnicodeDecodeError:
            continue
        return text if all(one.isprintable() or one in "\t\n\r" for one in text) else None
    return None


def _refuse(constant: str) -> Any:  # noqa: ANN401 -- never returns
    raise ValueError(f"{constant} is no JSON")


def _depth_within(content: object, levels: int) -> bool:
    if isinstance(content, dict):
        return levels > 0 and all(_depth_within(one, levels - 1) for one in content.values())
    if isinstance(content, list):
        return levels > 0 and all(_depth_within(one, levels - 1) for one in content)
    return True


def _is_framed(raw: bytes) -> bool:
    return len(raw) > ID_BYTES and raw[0] == MAGIC


def _after_indexes(raw: bytes) -> bytes:
    """Without the path of the message type, a list of zigzag varints; a single zero stands for ``[0]``."""
    count, at = _varint(raw, 0)
    for _ in range(min(count, MOST_INDEXES)):
        _, at = _varint(raw, at)
    return raw[at:]


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(raw):
        byte = raw[at]
        at, number, shift = at + 1, number | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:  # noqa: PLR2004 -- the last byte of a varint
            break
    return number >> 1, at


def _protobuf(raw: bytes) -> Shown:
    """The fields by number, as far as the wire tells them; their names are in a schema."""
    message = Empty()
    try:
        message.ParseFromString(raw)
    except DecodeError:
        return Shown(Format.HEX, raw.hex(), note="is no Protobuf message")
    fields = [{"field": one.field_number, "value": _field(one.data)} for one in UnknownFieldSet(message)]
    return Shown(Format.PROTOBUF, fields)


def _field(data: object) -> object:
    if isinstance(data, bytes):
        text = _text(data)
        return {"hex": data.hex()} if text is None else text
    return data if isinstance(data, int) else str(type(data).__name__)
