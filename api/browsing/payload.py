"""What a key or a value is, as something that can be shown: JSON, Avro, Protobuf, text or bytes in hex.

Nothing here fails: what cannot be read as one thing is shown as the next, down to hex, and says why. So
is JSON that would be shown as something else than the record holds: a name that an object has twice, a number
that would be rounded or is too long.

Callers who may not read payloads see the structure of JSON, Avro and Protobuf, never a value; of text and
bytes only the size. Headers that describe the failure are no payload: they stay.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from api.browsing import shown_json
from api.browsing.registry import AvroError, Registry, RegistryError, decode_avro
from api.browsing.shown_json import MOST_NAMES, InexactError

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


STRUCTURED: Final = frozenset({Format.JSON, Format.AVRO, Format.PROTOBUF})


class View(StrEnum):
    """How the reader wants to see it: as what it is, or the bytes in a fixed way."""

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

    def show(self, raw: bytes | None, view: View = View.AUTO, *, masks: bool = False) -> Shown:
        """The payload in the requested view; without its values if it ``masks`` them."""
        shown = self._whole(raw, view, masks=masks)
        return _masked(shown) if masks else shown

    def _whole(self, raw: bytes | None, view: View, *, masks: bool) -> Shown:
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
        return self._framed(raw, masks=masks) if _is_framed(raw) else _plain(raw, masks=masks)

    def header(self, raw: bytes | None, *, masks: bool = False) -> Shown:
        """A header's value: as text where it is text, else as hex; nothing of it if it is masked."""
        shown = self._header(raw)
        return _masked(shown) if masks else shown

    def _header(self, raw: bytes | None) -> Shown:
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

    def _framed(self, raw: bytes, *, masks: bool) -> Shown:
        """A payload in the registry's wire format: a zero, the schema's id, the data."""
        schema_id = int.from_bytes(raw[1 : 1 + ID_BYTES], "big")
        body = raw[1 + ID_BYTES :]
        if self._registry is None:
            note = "looks like a schema registry's wire format: set schema_registry to see it decoded"
            return Shown(Format.HEX, raw.hex(), schema_id, note)
        try:
            schema = self._registry.schema(schema_id)
            if schema.kind == "AVRO":
                return Shown(Format.AVRO, decode_avro(body, schema.avro), schema_id)
        except (RegistryError, AvroError) as error:
            return Shown(Format.HEX, raw.hex(), schema_id, str(error))
        shown = _plain(body, masks=masks) if schema.kind == "JSON" else _protobuf(_after_indexes(body))
        return replace(shown, schema_id=schema_id)


def _plain(raw: bytes, *, masks: bool) -> Shown:
    """Bytes without a schema: JSON, else text, else hex."""
    text = _text(raw)
    if text is None:
        return Shown(Format.HEX, raw.hex())
    note = ""
    try:
        content = shown_json.structure(text) if masks else shown_json.exact(text)
        if _depth_within(content, MOST_DEPTH):
            return Shown(Format.JSON, content)
    except InexactError as error:
        note = f"shown as text: as JSON, {error}"
    except (ValueError, RecursionError):
        pass
    return Shown(Format.TEXT, text, note=note)


def _text(raw: bytes, *, cut: bool = False) -> str | None:
    """The bytes as text if it can be printed, else None; if ``cut``, the last character may be incomplete."""
    for end in range(len(raw), len(raw) - (4 if cut else 1), -1):
        try:
            text = raw[:end].decode()
        except UnicodeDecodeError:
            continue
        return text if all(char.isprintable() or char in "\t\n\r" for char in text) else None
    return None


def _depth_within(content: object, levels: int) -> bool:
    if isinstance(content, dict):
        return levels > 0 and all(_depth_within(inner, levels - 1) for inner in content.values())
    if isinstance(content, list):
        return levels > 0 and all(_depth_within(inner, levels - 1) for inner in content)
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
    """The fields by number, as far as the wire format says; their names would be in a schema."""
    message = Empty()
    try:
        message.ParseFromString(raw)
    except DecodeError:
        return Shown(Format.HEX, raw.hex(), note="is no Protobuf message")
    found = UnknownFieldSet(message)
    fields: list[object] = [
        {"field": field.field_number, "value": _field(field.data)} for field in islice(found, MOST_NAMES)
    ]
    rest = len(found) - len(fields)
    return Shown(Format.PROTOBUF, [*fields, f"<{rest} more>"] if rest else fields, cut=rest > 0)


def _field(data: object) -> object:
    if isinstance(data, bytes):
        text = _text(data)
        return {"hex": data.hex()} if text is None else text
    return data if isinstance(data, int) else str(type(data).__name__)


def _masked(shown: Shown) -> Shown:
    """The payload without its values."""
    if shown.format is Format.PROTOBUF:
        fields = [
            {"field": field["field"], "value": shown_json.hidden(field["value"])}
            if isinstance(field, dict)
            else field
            for field in shown.content
        ]
        return replace(shown, content=fields)
    return replace(shown, content=shown_json.hidden(shown.content) if shown.format in STRUCTURED else None)
