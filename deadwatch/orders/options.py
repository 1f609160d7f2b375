"""A redrive request as options of a command line and as fields of a form, and the way back.

A field is named by its path in the JSON document, as ``limits.max_records``. The usual ones have an option of
``deadwatch redrive`` (``OPTIONS``) and a control of a form; their values are written as ``orders.texts``
says. Every other field is a setting, ``PATH=VALUE`` with the value in JSON. So a command line can hold any
request, also one with a field that the model gets later.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deadwatch.orders.texts import (
    ENGINE,
    INTERVALS,
    LINES,
    NUMBER,
    PLACES,
    SECONDS,
    SWITCH,
    TARGET,
    TEXT,
    WHOLE,
    Kind,
)

if TYPE_CHECKING:  # a command line has no need of the models
    from pydantic import BaseModel

    from deadwatch.orders.order import OrderRequest

Fields = dict[str, Any]
"""Values as in JSON, by the path of their field."""

STEPS: Final = frozenset({"dry_run", "confirm", "cut_off", "dlq_topic_id"})
"""Fields that cannot be set: a dry run comes first, and shows the number to confirm and what was read."""
SETTING: Final = "PATH=VALUE, as guards.max_bounce_ratio=0.2 (null: none)"

_PATH: Final = re.compile(r"[a-z_]+(\.[a-z_]+)?")


def spread(model: "BaseModel", whole: Collection[str], *, defaults: bool = False) -> Fields:
    """The fields of a request; fields at their defaults are left out unless ``defaults``.

    Nested parts are spread into fields, except those in ``whole``.
    """
    fields: Fields = {}
    document = model.model_dump(mode="json", by_alias=True, exclude_defaults=not defaults, exclude=set(STEPS))
    for name, value in document.items():
        apart = isinstance(value, dict) and name not in whole
        fields |= {f"{name}.{part}": one for part, one in value.items()} if apart else {name: value}
    return fields


def gathered(fields: Fields) -> dict[str, Any]:
    """The document with these fields. Raises ``ValueError`` if a field and its whole part are both given."""
    document: dict[str, Any] = {}
    for path, value in sorted(fields.items()):
        name, _, part = path.partition(".")
        if not part:
            document[name] = value
            continue
        inside = document.get(name, {})
        if not isinstance(inside, dict) or part in inside:
            raise ValueError(f"{path} is given twice")
        document[name] = {**inside, part: value}
    return document


def next_step(dry_run: Mapping[str, Any]) -> Fields:
    """The fields of ``STEPS`` for the order after a dry run, of the answer to that, as in JSON."""
    ends = {int(partition): offset for partition, offset in dry_run["cut_off"].items()}
    confirmed = {"confirm": dry_run["plan"]["at_most"], "cut_off": ends}
    return {"dry_run": False, **confirmed, "dlq_topic_id": dry_run["dlq_topic_id"]}


def setting(path: str, value: object) -> str:
    """The text ``PATH=VALUE``, in ASCII."""
    return f"{path}={json.dumps(value)}"


def add_setting(fields: Fields, text: str) -> None:
    """Add the field of a setting; a value that is no JSON is a text. Raises ``ValueError``."""
    path, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not _PATH.fullmatch(path):
        raise ValueError(f"a setting is {SETTING}, not {text!r}")
    if path in STEPS:
        raise ValueError(f"{path} cannot be set: a redrive begins with its dry run, which is then confirmed")
    if path in fields:
        raise ValueError(f"{path} is given twice")
    try:
        fields[path] = json.loads(value)
    except (ValueError, RecursionError):
        fields[path] = value


@dataclass(frozen=True, slots=True)
class Option:
    """An option for one field. A switch takes no text; an option of a list is repeated for each part."""

    name: str
    path: str
    kind: Kind
    metavar: str
    help: str

    def expresses(self, value: object) -> bool:
        """Whether the option can express this value exactly."""
        return value is True if self.kind is SWITCH else self.kind.carries(value)

    def words(self, value: object) -> list[str]:
        """The words of the value on a command line."""
        if self.kind is SWITCH:
            return [self.name]
        return [word for part in self.kind.parts(value) for word in (self.name, part)]


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
    Option("--drop-header", "drop_headers", LINES, "NAME", "Or x-*; repeatable; else as the dialect says."),
    Option("--engine", "engine", ENGINE, "<local|spark>", "spark: several executors."),
    Option("--reason", "reason", TEXT, "TEXT", "Why; it is kept."),
)
"""Fields without an option, and values that an option cannot express exactly, are given with ``--set``."""


def words(request: "OrderRequest") -> list[str]:
    """The words after ``deadwatch redrive`` for the dry run of a request, not yet quoted."""
    fields = spread(request, {option.path for option in OPTIONS})
    topic = fields.pop("dlq_topic")
    written: list[str] = []
    for option in OPTIONS:
        if option.path in fields and option.expresses(fields[option.path]):
            written += option.words(fields.pop(option.path))
    written += [word for path, value in fields.items() for word in (SET, setting(path, value))]
    return [*written, "--", topic] if topic.startswith("-") else [topic, *written]


def request(dlq_topic: str, texts: Mapping[str, str], settings: Iterable[str]) -> dict[str, Any]:
    """The request of options and settings, as a dry run; the api validates it. ``texts`` are by option name.

    Raises:
        ValueError: an option or a setting is written wrongly; the text says how to write it.
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
