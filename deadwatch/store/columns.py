"""Columns of tables, written as words: for the present schema and for the migrations that led to it.

``*topic *partition:n next_offset:n``: a "*" stands before a column of the key, a kind (``KINDS``) behind ":".
Without a kind a column holds text. ``*series:int>bucketed_series.id`` refers to a row of another table and is
deleted with it. No column but ``nullable`` is ever null.
"""

from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, SmallInteger, Text
from sqlalchemy.types import TypeEngine

KINDS: Final[dict[str, TypeEngine[Any]]] = {
    "": Text(),
    "n": BigInteger(),  # a whole number that the program gives
    "serial": BigInteger().with_variant(Integer(), "sqlite"),  # a number that the database gives
    "int": Integer(),
    "small": SmallInteger(),
    "flag": Boolean(),
    "bytes": LargeBinary(),
    "nullable": LargeBinary(),
}


def columns(words: str) -> list[Column[Any]]:
    """The columns that these words describe."""
    return [_column(word) for word in words.split()]


def _column(word: str) -> Column[Any]:
    described, _, parent = word.partition(">")
    name, _, kind = described.removeprefix("*").partition(":")
    return Column(
        name,
        KINDS[kind],
        *([ForeignKey(parent, ondelete="CASCADE")] if parent else []),
        primary_key=word.startswith("*"),
        autoincrement=kind == "serial",
        nullable=kind == "nullable",
    )
