"""What a dialect of dead letters is: the headers of every field, and what is made of them."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from deadwatch.contract.topics import refuse_broken

TEXTS: Final = ("source_topic", "consumergroup", "connector", "message", "error_class")
CAUSES: Final = ("cause_class", "cause_message", "stacktrace")
"""The fields from which the thrown exception is read, where ``error_class`` is only a wrapper around it."""
NUMBERS: Final = ("source_partition", "source_offset")
"""The fields of a dialect that name a header, by the type of its value."""

HeaderPattern = Annotated[str, Field(pattern=r"^[^*\x00-\x1f]{0,249}\*?$", min_length=1)]
"""The name of a header, or the beginning of names with ``*`` behind it."""


def _listed(value: Any) -> Any:  # noqa: ANN401 -- before it is validated
    return ((value,) if value else ()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...])]
"""The header of a field, or several: the first that a record has counts. Empty for none."""


class FromTopic(BaseModel, frozen=True, extra="forbid"):
    """A text made of the dead letter topic's name."""

    topic: str = Field(description="A regular expression that the name matches as a whole.")
    value: str = Field(description=r"The text; `\1` is what the first group of the expression matched.")

    @model_validator(mode="after")
    def _refuse_broken(self) -> Self:
        refuse_broken((self.topic,))
        try:
            re.compile(f"(?:{self.topic})|").fullmatch("").expand(self.value)  # type: ignore[union-attr]  # matches ""
        except (re.error, IndexError) as error:
            raise ValueError(f"{self.value!r} cannot be made of {self.topic!r}: {error}") from None
        return self

    def of(self, topic: str) -> str:
        """The text; empty where the expression does not match."""
        match = re.fullmatch(self.topic, topic)
        return match.expand(self.value) if match else ""


class HeaderNames(BaseModel, frozen=True, extra="forbid"):
    """The header of each field of a dead letter, or several, the best first; one without header is empty."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$", description="What the label `dialect` says.")
    source_topic: Names = Field(
        (), description="Where the record was read; a redrive to the origin needs it."
    )
    source_partition: Names = ()
    source_offset: Names = ()
    consumergroup: Names = ()
    connector: Names = ()
    error_class: Names = ()
    message: Names = ()
    wrappers: tuple[str, ...] = Field(
        (), description="Classes that only wrap the exception that was thrown, which is looked up then."
    )
    cause_class: Names = Field((), description="The class of the exception in such a wrapper.")
    cause_message: Names = ()
    stacktrace: Names = Field(
        (), description="Its first `Caused by:` of no wrapper is used where no header has the cause."
    )
    drop_headers: tuple[HeaderPattern, ...] = Field(
        (), description="Headers that a redrive leaves out, unless its order says otherwise."
    )
    binary_numbers: bool = Field(
        False, description="Partition and offset are 4 and 8 bytes big-endian, not text."
    )


class Dialect(HeaderNames):
    """The names of a dialect's headers, and what is made of them.

    A header belongs to the dialect if it begins with one of the prefixes, or is named here where there is no
    prefix. Two entries may have one name if their prefixes differ: families of one dialect.

    ``error_classes`` names the causes of a dialect that has them in its message alone, ``wrappers`` the
    exceptions that only wrap the thrown one (``deadletter.thrown``). ``from_topic`` has the texts of fields
    of which no header is there. ``drop_headers`` are left out by a redrive unless its order says otherwise;
    with ``*`` at the end a beginning is meant.
    """

    prefix: Names = ()
    others: tuple[str, ...] = ()
    """Headers of the dialect that no field is read from, where it has no prefix."""
    error_classes: Mapping[str, str] = {}
    from_topic: Mapping[str, FromTopic] = {}
    newest_first: bool = False
    """Who writes its headers puts them before those that were there; others put them behind."""

    @cached_property
    def headers(self) -> tuple[str, ...]:
        """The names of the dialect's headers, without repetition."""
        named = (name for of in (*TEXTS, *CAUSES, *NUMBERS) for name in self.names(of))
        return tuple(dict.fromkeys((*named, *self.others)))

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
