"""Avro bytes by their schema, as JSON can carry them.

Bytes come from whoever may write to a dead letter topic. Fastavro's compiled reader ends the process when
they nest deeper than its stack; its reader in Python raises instead, and is the one that is used. An array
whose items take no bytes can claim any length: schemas with such arrays are not to be decoded with.
"""

import io
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

from fastavro import _read_py

MOST_DEPTH: Final = 64


class AvroError(Exception):
    """Why the bytes cannot be shown, in one sentence."""


def decoded(raw: bytes, schema: Any) -> Any:  # noqa: ANN401 -- what Avro can say
    """The datum, made of what JSON knows: bytes are hex, times ISO 8601, decimals text.

    Raises ``AvroError``.
    """
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
    return str(datum) if isinstance(datum, Decimal | UUID) else datum


def may_be_endless(schema: object, named: Mapping[str, object]) -> bool:
    """Whether an array of the schema, or of a named one, has items that may take no bytes."""
    return any(_has_free_items(one, named) for one in (schema, *named.values()))


def _has_free_items(schema: object, named: Mapping[str, object]) -> bool:
    if isinstance(schema, list):
        return any(_has_free_items(one, named) for one in schema)
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "array" and _is_free(schema["items"], named, frozenset()):
        return True
    fields = [field["type"] for field in schema.get("fields", ())]
    return any(_has_free_items(one, named) for one in (*fields, schema.get("items"), schema.get("values")))


def _is_free(schema: object, named: Mapping[str, object], within: frozenset[str]) -> bool:
    """Whether a datum of the schema may be written as no byte at all; a union has its branch at least."""
    if isinstance(schema, str):
        inside = schema in within
        return schema == "null" or inside or _is_free(named.get(schema), named, within | {schema})
    if not isinstance(schema, Mapping):
        return False
    kind = schema.get("type")
    if kind == "fixed":
        return cast("int", schema["size"]) == 0
    if kind in {"record", "error"}:
        return all(_is_free(field["type"], named, within) for field in schema["fields"])
    return kind == "null"
