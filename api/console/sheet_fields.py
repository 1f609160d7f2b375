"""What the sheets of redrives and policies have in common: controls, what they say, and what is wrong.

A control says one field of a request. What no control says, or says exactly, stands in the area ``also``, a
setting a line: it can be seen and changed, and is not lost when a sheet is filled in from a request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from streaming.redrive.order_fields import Fields, add_setting, gathered, setting, spread
from streaming.redrive.order_texts import PAIRS, TEXT, Kind

Form = Mapping[str, str]

SHEET: Final = "sheet"
"""Stands for the whole sheet where a problem belongs to no field."""
ALSO: Final = "also"
EMPTY: Final[Form] = {}


@dataclass(frozen=True, slots=True)
class Control:
    """A control by its name in the sheet, and the field by its path in the request.

    It counts only ``when`` a choice has a value, as ``target=topic``. An empty one says ``blank``, or
    nothing, and ``needed`` is told where nothing else says the field.
    """

    name: str
    path: str
    kind: Kind = TEXT
    when: str = ""
    blank: str = ""
    needed: str = ""

    def counts(self, said: Form) -> bool:
        """Whether the choices of the sheet ask for it."""
        choice, _, value = self.when.partition("=")
        return not choice or said[choice] == value


Controls = Sequence[Control]

TARGETS: Final[Controls] = (
    Control("target", "target.kind"),
    Control("target_topic", "target.topic", when="target=topic", needed="name the topic"),
    Control("target_group", "target.consumergroup", when="target=retry", needed="name the consumer group"),
    Control("target_retry_topic", "target.topic", when="target=retry"),
    Control("target_map", "target.map", PAIRS, "target=map", needed="write old=new, one pair a line"),
)

DEFAULTS: Final[Mapping[str, str]] = {
    **{control.name: "" for control in TARGETS},
    "target": "origin",
    ALSO: "",
}
"""Every field, and what stands in it at first."""


class FieldsError(Exception):
    """What is wrong, by field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


def document(controls: Controls, said: Form) -> dict[str, Any]:
    """The request that a sheet asks for, as its model takes it.

    Raises:
        FieldsError: something is missing or cannot be read.
    """
    counting = [control for control in controls if control.counts(said)]
    problems: dict[str, str] = {}
    fields: Fields = {}
    for control in counting:
        text = said[control.name] or control.blank
        try:
            fields |= {control.path: control.kind.read(text)} if text else {}
        except ValueError:
            problems[control.name] = f"it takes {control.kind.form}"
    try:
        for line in _settings(said):
            add_setting(fields, line)
    except ValueError as error:
        problems[ALSO] = str(error)
    for control in counting:
        if control.needed and control.path not in fields:
            problems.setdefault(control.name, control.needed)
    if problems:
        raise FieldsError(problems)
    return gathered(fields)


def filled(controls: Controls, request: BaseModel, choices: Form = EMPTY) -> dict[str, str]:
    """The sheet as it asks for this request; ``choices`` say which controls count."""
    paths = {control.path for control in controls}
    values, said = spread(request, paths, defaults=True), spread(request, paths)
    form = {**{control.name: "" for control in controls}, **choices}
    for control in controls:
        value = values.get(control.path)
        if control.counts(form) and control.kind.carries(value):
            text = control.kind.write(value)
            form[control.name] = "" if text == control.blank else text
            said.pop(control.path, None)
    return form | {ALSO: "\n".join(setting(path, value) for path, value in said.items())}


def refused(error: ValidationError, controls: Controls, said: Form) -> dict[str, str]:
    """What a model refuses, by field of the sheet."""
    names = {control.path: control.name for control in controls if control.counts(said)}
    names |= {line.partition("=")[0].strip(): ALSO for line in _settings(said)}
    problems: dict[str, str] = {}
    for one in error.errors():
        place = [str(part) for part in one["loc"]]
        if place[:1] == ["target"]:
            del place[1:2]  # the kind, which pydantic names between the two
        paths = [".".join(place[:length]) for length in range(len(place), 0, -1)]
        name, path = next(((names[path], path) for path in paths if path in names), (SHEET, ""))
        problem = one["msg"].removeprefix("Value error, ")
        problems[name] = f"{path}: {problem}" if name == ALSO else problem
    return problems


def _settings(said: Form) -> list[str]:
    return [line for line in said[ALSO].split("\n") if line.strip()]
