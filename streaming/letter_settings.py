"""How the headers of dead letters are read: settings that streaming, redrive and api have in common."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from collector.settings_file import ProcessSettings
from streaming.dialects import DIALECTS, UNKNOWN, Dialect, Reading

BUILT_IN = frozenset({UNKNOWN, "other", *(one.name for one in DIALECTS)})


class HeaderNames(BaseModel):
    """The headers of a dialect of one's own, by the field of a dead letter that each of them tells."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$", description="What the label `dialect` says.")
    source_topic: str = Field("", description="Where the record was read; a redrive to the origin needs it.")
    source_partition: str = ""
    source_offset: str = ""
    consumergroup: str = ""
    connector: str = ""
    error_class: str = ""
    message: str = ""
    binary_numbers: bool = Field(
        False, description="Partition and offset are 4 and 8 bytes big-endian, not text."
    )

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.name in BUILT_IN:
            raise ValueError(f"{self.name} is the name of a dialect that is built in")
        headers = self.dialect().headers
        if not headers:
            raise ValueError("no header is named: give at least one of source_topic, error_class, message, …")
        for header in headers:
            built_in = next((one for one in DIALECTS if header.startswith(one.prefix)), None)
            if built_in is not None:
                raise ValueError(f"{header} is a header of the dialect {built_in.name}, which is built in")
        return self

    def dialect(self) -> Dialect:
        """The dialect that these headers are."""
        return Dialect(**self.model_dump())


class LetterSettings(ProcessSettings):
    """Settings of a process that reads dead letters."""

    dialects: tuple[HeaderNames, ...] = Field(
        (), description="Dialects of your own: `name`, and the header of each field (docs/dialects.md)."
    )
    first_header_counts: bool = Field(
        False, description="Of several headers of one name the first counts; unless set, the last."
    )

    @model_validator(mode="after")
    def _refuse_ambiguous_dialects(self) -> Self:
        for seen in ([one.name for one in self.dialects], [*self._headers()]):
            twice = next((name for name in seen if seen.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"{twice} is in several dialects: which one a record has would be chance")
        return self

    def _headers(self) -> list[str]:
        return [header for one in self.dialects for header in set(one.dialect().headers)]

    @property
    def reading(self) -> Reading:
        """What the process has to be told: ``dialects.read_as``."""
        return Reading((*DIALECTS, *(one.dialect() for one in self.dialects)), self.first_header_counts)
