"""What the sheets of redrives and policies have in common: where records go, waits, and what is wrong."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from streaming.redrive.order import MapTarget, RetryTarget, Target, TopicTarget

Form = Mapping[str, str]

DEFAULTS: Final[Mapping[str, str]] = {
    "target": "origin",
    "target_topic": "",
    "target_group": "",
    "target_map": "",
}
"""Every field, and what stands in it at first."""

SHEET: Final = "sheet"
"""Stands for the whole sheet where a problem belongs to no field."""

_NEEDED: Final[Mapping[str, Mapping[str, str]]] = {
    "topic": {"target_topic": "name the topic"},
    "retry": {"target_group": "name the consumer group"},
    "map": {"target_map": "write old=new, one pair a line"},
}


class FieldsError(Exception):
    """What is wrong, by field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


def needed(said: Form) -> Mapping[str, str]:
    """The fields that the chosen target needs, and what is said where one is empty."""
    return _NEEDED.get(said["target"], {})


def target(said: Form) -> dict[str, Any]:
    """The target, as an order's model takes it. Raises ``FieldsError``."""
    match said["target"]:
        case "topic":
            return {"kind": "topic", "topic": said["target_topic"]}
        case "retry":
            return {"kind": "retry", "consumergroup": said["target_group"]}
        case "map":
            return {"kind": "map", "map": _pairs(said["target_map"])}
    return {"kind": "origin"}


def filled(chosen: Target) -> dict[str, str]:
    """The fields as they say this target."""
    fields = {**DEFAULTS, "target": chosen.kind}
    match chosen:
        case TopicTarget():
            fields["target_topic"] = chosen.topic
        case RetryTarget():
            fields["target_group"] = chosen.consumergroup
        case MapTarget():
            fields["target_map"] = "\n".join(f"{old}={new}" for old, new in chosen.map.items())
    return fields


def refused(error: ValidationError, fields: Mapping[str, str]) -> dict[str, str]:
    """What a model refuses, by field of the sheet; ``fields`` tells which the model's names are."""
    told: dict[str, str] = {}
    for one in error.errors():
        names = [str(part) for part in one["loc"]]
        places = [".".join(names[:length]) for length in range(len(names), 0, -1)]
        field = next((fields[place] for place in places if place in fields), SHEET)
        told[field] = one["msg"].removeprefix("Value error, ")
    return told


def milliseconds(said: Form, name: str) -> int:
    """Of a field in seconds. Raises ``FieldsError``."""
    try:
        return round(float(said[name]) * 1_000)
    except (ValueError, OverflowError):
        raise FieldsError({name: "say it in seconds, as 60"}) from None


def _pairs(text: str) -> dict[str, str]:
    """``old=new`` by lines or commas. Raises ``FieldsError``."""
    pairs = [pair.split("=") for pair in text.replace(",", "\n").split("\n") if pair.strip()]
    if any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004 -- a pair
        raise FieldsError({"target_map": "each line is old=new"})
    return {old.strip(): new.strip() for old, new in pairs}
