"""A redrive's request field by field: what command lines and forms are made of.

A field is named by its path in the JSON document, as ``limits.max_records``. The usual ones have an option of
``deadwatch redrive`` and a control of a form (``order_texts``). Every other one is a setting, ``PATH=VALUE``
with the value in JSON. So whatever a request can hold can be said, also a field that the model gets later.
"""

import json
import re
from collections.abc import Collection
from typing import Any, Final

from pydantic import BaseModel

Fields = dict[str, Any]
"""Values as JSON has them, by path."""

STEPS: Final = frozenset({"dry_run", "confirm"})
"""Said by the step that is taken: a dry run comes first, and shows the number to confirm."""
SETTING: Final = "PATH=VALUE, as guards.max_bounce_ratio=0.2 (null: none)"

_PATH: Final = re.compile(r"[a-z_]+(\.[a-z_]+)?")


def spread(model: BaseModel, whole: Collection[str], *, defaults: bool = False) -> Fields:
    """What a request says, by path; what stays at its default is left out unless ``defaults``.

    A part of the request is taken apart unless it is one of ``whole``.
    """
    fields: Fields = {}
    document = model.model_dump(mode="json", by_alias=True, exclude_defaults=not defaults, exclude=set(STEPS))
    for name, value in document.items():
        apart = isinstance(value, dict) and name not in whole
        fields |= {f"{name}.{part}": one for part, one in value.items()} if apart else {name: value}
    return fields


def gathered(fields: Fields) -> dict[str, Any]:
    """The document that has these fields. Raises ``ValueError`` where a part is said beside its whole."""
    document: dict[str, Any] = {}
    for path, value in sorted(fields.items()):
        name, _, part = path.partition(".")
        if not part:
            document[name] = value
            continue
        inside = document.get(name, {})
        if not isinstance(inside, dict) or part in inside:
            raise ValueError(f"{path} is said twice")
        document[name] = {**inside, part: value}
    return document


def setting(path: str, value: object) -> str:
    """``PATH=VALUE``, in ASCII."""
    return f"{path}={json.dumps(value)}"


def add_setting(fields: Fields, text: str) -> None:
    """Add what a setting says; a value that is no JSON is a text. Raises ``ValueError`` with the reason."""
    path, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not _PATH.fullmatch(path):
        raise ValueError(f"a setting is {SETTING}, not {text!r}")
    if path in STEPS:
        raise ValueError(f"{path} cannot be set: a redrive begins with its dry run, which is then confirmed")
    if path in fields:
        raise ValueError(f"{path} is said twice")
    try:
        fields[path] = json.loads(value)
    except (ValueError, RecursionError):
        fields[path] = value
