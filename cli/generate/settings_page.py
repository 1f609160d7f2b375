"""The list of all settings in ``docs/configuration.md``, made from the settings models themselves."""

from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from api.settings import ApiSettings
from collector.settings import CollectorSettings
from redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings

MARKER = "<!-- below this line: written by make docs -->\n"
PROCESSES = (CollectorSettings, StreamingSettings, RedriveSettings, ApiSettings)


def page(text: str) -> str:
    """The page with its list made anew."""
    prose, marker, _ = text.partition(MARKER)
    if not marker:
        raise ValueError(f"the page has no line {MARKER.strip()!r}")
    nested: dict[str, type[BaseModel]] = {}
    sections = [section(process.section, process, nested) for process in PROCESSES]
    sections += [section(name, model, {}) for name, model in nested.items()]
    return prose + marker + "\n" + "\n\n".join(sections) + "\n"


def section(name: str, model: type[BaseModel], nested: dict[str, type[BaseModel]]) -> str:
    """A heading and a table of one model's fields; models inside it are added to ``nested``."""
    return "\n".join([f"## `{name}`", "", "| setting | default | |", "|---|---|---|", *_rows(model, nested)])


def _rows(model: type[BaseModel], nested: dict[str, type[BaseModel]]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        if inner:
            nested[name] = inner
        described = field.description or (f"see `{name}` below" if inner else "")
        yield f"| `{name}` | {_default(field)} | {_cell(described)} |"


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The settings model that a field is, or is a list of."""
    candidates = (annotation, *get_args(annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined:
        return "required"
    if value is None or isinstance(value, BaseModel) or str(value) in {"", "()"}:
        return ""
    if isinstance(value, dict):
        return _cell(", ".join(f"`{name}`: `{item}`" for name, item in value.items()))
    if isinstance(value, tuple):
        return _cell(", ".join(f"`{item}`" for item in value))
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
