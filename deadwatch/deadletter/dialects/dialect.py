"""What a dialect of dead letters is: the headers of every field, and what is made of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

TEXTS: Final = ("source_topic", "consumergroup", "connector", "message", "error_class")
CAUSES: Final = ("cause_class", "cause_message", "stacktrace")
"""The fields from which the thrown exception is read, where ``error_class`` is only a wrapper around it."""
NUMBERS: Final = ("source_partition", "source_offset")
"""The fields of a dialect that name a header, by the type of its value."""

Names = str | tuple[str, ...]
"""The header of a field, or several: the first one that the record has counts. Empty for none."""


@dataclass(frozen=True, slots=True)
class FromTopic:
    """A text made of the name of the dead letter topic, where the pattern matches it as a whole."""

    pattern: str
    value: str
    """A template of ``re``: ``\\1`` is the pattern's first group."""

    def of(self, topic: str) -> str:
        """The text; empty where the pattern does not match."""
        match = re.fullmatch(self.pattern, topic)
        return match.expand(self.value) if match else ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The headers of every field of a dead letter; a field without header is empty.

    A header belongs to the dialect if it begins with one of the prefixes, or is named here where there is no
    prefix. Two entries may have one name if their prefixes differ: families of one dialect.

    ``error_classes`` names the causes of a dialect that has them in its message alone, ``wrappers`` the
    exceptions that only wrap the thrown one (``deadletter.thrown``). ``from_topic`` has the texts of fields
    of which no header is there. ``drop_headers`` are left out by a redrive unless its order says otherwise;
    with ``*`` at the end a beginning is meant.
    """

    name: str
    prefix: Names = ()
    source_topic: Names = ()
    source_partition: Names = ()
    source_offset: Names = ()
    message: Names = ()
    consumergroup: Names = ()
    connector: Names = ()
    error_class: Names = ()
    cause_class: Names = ()
    cause_message: Names = ()
    stacktrace: Names = ()
    others: tuple[str, ...] = ()
    """Headers of the dialect that no field is read from, where it has no prefix."""
    wrappers: frozenset[str] = frozenset()
    error_classes: Mapping[str, str] = field(default_factory=dict, hash=False)
    from_topic: Mapping[str, FromTopic] = field(default_factory=dict, hash=False)
    drop_headers: tuple[str, ...] = ()
    binary_numbers: bool = False
    newest_first: bool = False
    """Who writes its headers puts them before those that were there; others put them behind."""
    headers: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The names of the dialect's headers, without repetition."""

    def __post_init__(self) -> None:
        """Make a tuple of each name that stands alone, and one of all names."""
        for name in ("prefix", *TEXTS, *CAUSES, *NUMBERS):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, (value,) if value else ())
        named = (name for of in (*TEXTS, *CAUSES, *NUMBERS) for name in self.names(of))
        object.__setattr__(self, "headers", tuple(dict.fromkeys((*named, *self.others))))

    def names(self, of: str) -> tuple[str, ...]:
        """The headers of a field, the one that counts before others first."""
        named: tuple[str, ...] = getattr(self, of)
        return named

    def may_have(self, text: str) -> bool:
        """Whether a dead letter of the dialect may have this text, from a header or from its topic's name."""
        return bool(self.names(text)) or text in self.from_topic

    def has(self, header: str) -> bool:
        """Whether a header belongs to the dialect."""
        prefix: Any = self.prefix
        return header.startswith(prefix) if prefix else header in self.headers
