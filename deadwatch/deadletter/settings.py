"""How the headers of dead letters are read: settings that streaming, redrive and api have in common."""

from collections import Counter
from typing import Final, Self

from pydantic import Field, model_validator

from deadwatch.deadletter.dialects import DIALECTS, UNKNOWN, Dialect, Reading
from deadwatch.deadletter.dialects.dialect import TEXTS, FromTopic, HeaderNames
from deadwatch.runtime.settings import ProcessSettings

BUILT_IN = frozenset(dialect.name for dialect in DIALECTS)
RESERVED = frozenset({UNKNOWN, "other"})
ANY_TOPIC: Final = ".*"


class OwnDialect(HeaderNames):
    """A dialect of a user's own: the header of each field of a dead letter, or several, the best first."""

    instead_of: tuple[str, ...] = Field((), description="Dialects that are built in, and are not read then.")
    constants: dict[str, str] = Field({}, description="Texts of fields for which a record has no header.")
    derived: dict[str, FromTopic] = Field({}, description="The same, made of the dead letter topic's name.")

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
            field: FromTopic(topic=ANY_TOPIC, value=text.replace("\\", r"\\"))
            for field, text in self.constants.items()
        }
        named = {field: getattr(self, field) for field in HeaderNames.model_fields}
        return Dialect(**named, from_topic={**constants, **self.derived})


class DeadLetterSettings(ProcessSettings):
    """Settings of a process that reads dead letters."""

    dialects: tuple[OwnDialect, ...] = Field(
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
