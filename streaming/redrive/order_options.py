"""The options of ``deadwatch redrive`` that say what is asked for: a request as words, and the way back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streaming.redrive.order import OrderRequest
from streaming.redrive.order_fields import Fields, add_setting, gathered, setting, spread
from streaming.redrive.order_texts import (
    INTERVALS,
    NUMBER,
    PLACES,
    SECONDS,
    SWITCH,
    TARGET,
    TEXT,
    WHOLE,
    Kind,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One field, by its path in the request. A switch takes no text; one of many parts is given for each."""

    name: str
    path: str
    kind: Kind
    metavar: str
    help: str

    def says(self, value: object) -> bool:
        """Whether it can say this value exactly."""
        return value is True if self.kind is SWITCH else self.kind.carries(value)

    def words(self, value: object) -> list[str]:
        """The value as it stands on a command line."""
        if self.kind is SWITCH:
            return [self.name]
        text = self.kind.write(value)
        return [
            word for part in (text.split("\n") if self.kind.many else [text]) for word in (self.name, part)
        ]


SET: Final = "--set"
OPTIONS: Final = (
    Option("--all", "selection.all", SWITCH, "", "All records."),
    Option("--group", "selection.group", TEXT, "ID", "Records of one cause."),
    Option("--filter", "selection.filter", TEXT, "CEL", "docs/filter.md"),
    Option("--offsets", "selection.offsets", INTERVALS, "P:FROM-TO", "Repeatable."),
    Option("--record", "selection.records", PLACES, "P:OFFSET", "Repeatable."),
    Option("--from", "selection.from", TEXT, "TIME", "With its zone."),
    Option("--to", "selection.to", TEXT, "TIME", "Left out itself."),
    Option("--again", "again", SWITCH, "", "Also what was moved or parked before; else it is left out."),
    Option("--target", "target", TARGET, "RULE", "origin, topic:NAME, map:OLD=NEW,… or retry:GROUP"),
    Option("--rate", "limits.records_per_second", NUMBER, "NUMBER", "Records a second, or none; else 50."),
    Option("--max-records", "limits.max_records", WHOLE, "NUMBER", "Move so many at most."),
    Option("--max-attempts", "retry.max_attempts", WHOLE, "NUMBER", "Then a record is parked; else 5."),
    Option("--settle-after", "guards.settle_window_ms", SECONDS, "SECONDS", "Without coming back; else 600."),
    Option("--engine", "engine", TEXT, "NAME", "local, or spark: several executors."),
    Option("--reason", "reason", TEXT, "TEXT", "Why; it is kept."),
)
"""What has none is said with ``--set``, as is what an option would not say exactly."""


def words(request: OrderRequest) -> list[str]:
    """What follows ``deadwatch redrive``, not yet quoted: the dry run of this request."""
    fields = spread(request, {option.path for option in OPTIONS})
    topic = fields.pop("dlq_topic")
    said: list[str] = []
    for option in OPTIONS:
        if option.path in fields and option.says(fields[option.path]):
            said += option.words(fields.pop(option.path))
    said += [word for path, value in fields.items() for word in (SET, setting(path, value))]
    return [*said, "--", topic] if topic.startswith("-") else [topic, *said]


def request(dlq_topic: str, texts: Mapping[str, str], settings: Iterable[str]) -> dict[str, Any]:
    """What options say, a dry run; the api judges it. ``texts`` are by the options' names.

    Raises:
        ValueError: an option or a setting is written wrongly; the text tells how it is written.
    """
    fields: Fields = {"dlq_topic": dlq_topic}
    for option in OPTIONS:
        if option.name in texts:
            try:
                fields[option.path] = option.kind.read(texts[option.name])
            except ValueError:
                raise ValueError(
                    f"{option.name} takes {option.kind.form}, not {texts[option.name]!r}"
                ) from None
    for text in settings:
        add_setting(fields, text)
    return {**gathered(fields), "dry_run": True}
