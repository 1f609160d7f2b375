"""How the headers of dead letters are read: settings that streaming, redrive and api have in common."""

import re
from collections import Counter
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from deadwatch.contract.topics import refuse_broken
from deadwatch.deadletter.dialects import DIALECTS, UNKNOWN, Dialect, Reading
from deadwatch.deadletter.dialects.dialect import CAUSES, NUMBERS, TEXTS, FromTopic
from deadwatch.deadletter.dropped import HeaderPattern
from deadwatch.runtime.settings import ProcessSettings

BUILT_IN = frozenset(dialect.name for dialect in DIALECTS)
RESERVED = frozenset({UNKNOWN, "other"})
ANY_TOPIC: Final = ".*"


def _listed(value: Any) -> Any:  # noqa: ANN401 -- before it is validated
    return ((value,) if value else ()) if isinstance(value, str) else value


Headers = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...])]
"""A header, or several: the first that a record has counts."""


class Derived(BaseModel, frozen=True, extra="forbid"):
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


class HeaderNames(BaseModel, frozen=True, extra="forbid"):
    """A dialect of a user's own: the header of each field of a dead letter, or several, the best first."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$", description="What the label `dialect` says.")
    instead_of: tuple[str, ...] = Field((), description="Dialects that are built in, and are not read then.")
    source_topic: Headers = Field(
        (), description="Where the record was read; a redrive to the origin needs it."
    )
    source_partition: Headers = ()
    source_offset: Headers = ()
    consumergroup: Headers = ()
    connector: Headers = ()
    error_class: Headers = ()
    message: Headers = ()
    wrappers: tuple[str, ...] = Field(
        (), description="Classes that only wrap the exception that was thrown, which is looked up then."
    )
    cause_class: Headers = Field((), description="The class of the exception in such a wrapper.")
    cause_message: Headers = ()
    stacktrace: Headers = Field(
        (), description="Its first `Caused by:` of no wrapper is used where no header has the cause."
    )
    constants: dict[str, str] = Field({}, description="Texts of fields for which a record has no header.")
    derived: dict[str, Derived] = Field({}, description="The same, made of the dead letter topic's name.")
    drop_headers: tuple[HeaderPattern, ...] = Field(
        (), description="Headers that a redrive leaves out, unless its order says otherwise."
    )
    binary_numbers: bool = Field(
        False, description="Partition and offset are 4 and 8 bytes big-endian, not text."
    )

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        for name in self.instead_of:
            if name not in BUILT_IN:
                raise ValueError(
                    f"{name} is no dialect that is built in: those are {', '.join(sorted(BUILT_IN))}"
                )
        if self.name in RESERVED or self.name in BUILT_IN - self.replaced:
            raise ValueError(f"{self.name} is the name of a dialect that is built in")
        for field in (*self.constants, *self.derived):
            if field not in TEXTS:
                raise ValueError(f"{field} is no text of a dead letter: those are {', '.join(TEXTS)}")
        if both := self.constants.keys() & self.derived.keys():
            raise ValueError(f"{min(both)} is a constant and derived")
        return self

    @model_validator(mode="after")
    def _refuse_headers_of_others(self) -> Self:
        headers = self.dialect().headers
        if not headers:
            raise ValueError("no header is named: give at least one of source_topic, error_class, message, …")
        for header in headers:
            owner = next((one.name for one in DIALECTS if one.prefix and one.has(header)), None)
            if owner is not None and owner not in self.instead_of:
                raise ValueError(
                    f"{header} is a header of the dialect {owner}, which is built in: "
                    f"say instead_of: [{owner}] if yours is to be read in its place"
                )
        return self

    @property
    def replaced(self) -> frozenset[str]:
        """The dialects that are built in and are not read beside this one.

        One without prefix gives way to a dialect that names one of its headers: such names belong to nobody.
        """
        mine = {*self.dialect().headers}
        unmarked = (one for one in DIALECTS if not one.prefix)
        return frozenset(self.instead_of).union(
            one.name for one in unmarked if not mine.isdisjoint(one.headers)
        )

    def dialect(self) -> Dialect:
        """The dialect with these headers."""
        constants = {
            field: FromTopic(ANY_TOPIC, text.replace("\\", r"\\")) for field, text in self.constants.items()
        }
        derived = {field: FromTopic(made.topic, made.value) for field, made in self.derived.items()}
        return Dialect(
            name=self.name,
            wrappers=frozenset(self.wrappers),
            from_topic={**constants, **derived},
            drop_headers=self.drop_headers,
            binary_numbers=self.binary_numbers,
            **{field: getattr(self, field) for field in (*TEXTS, *NUMBERS, *CAUSES)},
        )


class DeadLetterSettings(ProcessSettings):
    """Settings of a process that reads dead letters."""

    dialects: tuple[HeaderNames, ...] = Field(
        (), description="Dialects of your own: `name`, and the header of each field (docs/dialects.md)."
    )
    first_header_counts: bool = Field(
        False, description="Of several headers of one name the oldest counts; unless set, the newest."
    )

    @model_validator(mode="after")
    def _refuse_ambiguous_dialects(self) -> Self:
        own = [names.dialect() for names in self.dialects]
        names = Counter(dialect.name for dialect in own)
        headers = Counter(header for dialect in own for header in dialect.headers)
        for name, times in (*names.most_common(1), *headers.most_common(1)):
            if times > 1:
                raise ValueError(f"{name} is in several dialects: which one a record has would be chance")
        return self

    @property
    def reading(self) -> Reading:
        """The argument of ``dialects.read_as`` for this process."""
        own = tuple(names.dialect() for names in self.dialects)
        replaced = frozenset[str]().union(*(names.replaced for names in self.dialects))
        built_in = (dialect for dialect in DIALECTS if dialect.name not in replaced)
        return Reading((*own, *built_in), self.first_header_counts)
