"""How the controls of a form become the JSON document of a request, and how a request fills a form.

A control holds one field of the request. Fields without a control, and values that no control can show
exactly, stand in the text area ``also``, one ``path=value`` a line: so they can be seen and changed, and are
not lost when a form is filled from a request.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ValidationError

from api.console.rendering import UNPROCESSABLE, render, validation_text
from api.console.visitor import Form, FormError
from api.errors import STATUSES
from api.routes import dead_letters
from api.service import Service
from api.validation import IF_MATCH, reason
from deadwatch.contract.errors import RequestError
from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.orders.options import Fields, add_setting, gathered, setting, spread
from deadwatch.orders.texts import PAIRS, TEXT, Kind

WHOLE_FORM: Final = "form"
"""The key of a problem that belongs to no single field."""
ALSO: Final = "also"
MAX_TOPICS: Final = 500


@dataclass(frozen=True, slots=True)
class Control:
    """A control of a form by its name, and the field of the request by its path.

    With ``when``, such as ``target=topic``, it counts only while the control ``target`` has this value. An
    empty control means the text ``blank``, or that the field is not set. ``needed`` is the message where
    neither the control nor ``also`` sets the field.
    """

    name: str
    path: str
    kind: Kind = TEXT
    when: str = ""
    blank: str = ""
    needed: str = ""

    def counts(self, form: Form) -> bool:
        """Whether the choices that are made in the form ask for this control."""
        choice, _, value = self.when.partition("=")
        return not choice or form[choice] == value


TARGETS: Final[Sequence[Control]] = (
    Control("target", "target.kind"),
    Control("target_topic", "target.topic", when="target=topic", needed="enter the topic"),
    Control("target_group", "target.consumergroup", when="target=retry", needed="enter the consumer group"),
    Control("target_retry_topic", "target.topic", when="target=retry"),
    Control(
        "target_map",
        "target.map",
        PAIRS,
        "target=map",
        needed="enter pairs such as old=new, one on each line",
    ),
)
"""Where the records go: the controls that redrives and policies share."""


class FieldsError(Exception):
    """Fields of a form are missing or cannot be read; ``problems`` has a message by the name of each."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


Refusal = FieldsError | ValidationError | RequestError
"""Why a form is shown again instead of its request being carried out."""


@contextmanager
def validated() -> Iterator[None]:
    """Inside, a request that its fields do not fit is a ``FormError`` that says which and why."""
    try:
        yield
    except ValidationError as error:
        raise FormError(validation_text(error.errors(), "field")) from None


def etag(form: Form) -> str:
    """The ETag of what the page has shown, and the form changes. Raises ``FormError``."""
    tag = f'"{form.get("version", "")}"'
    if not re.fullmatch(IF_MATCH, tag):
        raise FormError("the form does not say which version it changes: open the page again")
    return tag


class RequestForm:
    """The form of one kind of request: template, controls and their initial values ("" unless given)."""

    def __init__(self, template: str, controls: Sequence[Control], initial: Form) -> None:
        self._template, self._controls = template, controls
        self.initial: Form = {
            **{control.name: "" for control in controls},
            "target": "origin",
            ALSO: "",
            **initial,
        }

    def page(
        self,
        request: Request,
        service: Service,
        form: Form,
        refusal: Refusal | None = None,
        **context: object,
    ) -> HTMLResponse:
        """The page of the form; what is wrong stands beside each field, and the status says so too.

        ``topics`` are the dead letter topics that it can suggest.
        """
        status = 200 if refusal is None else UNPROCESSABLE
        if isinstance(refusal, RequestError):
            status = STATUSES[type(refusal)]
        context["problems"] = {} if refusal is None else self._problems(refusal, form)
        known = dead_letters.topics(service, dead_letters.TopicsQuery(limit=MAX_TOPICS))
        context["topics"] = [topic.dlq_topic for topic in known.items]
        return render(request, self._template, status, form=self.complete(form), **context)

    def complete(self, form: Form) -> dict[str, str]:
        """Every field of the form: as it was sent, else its initial value."""
        return {name: form.get(name, initial) for name, initial in self.initial.items()}

    def document(self, submitted: Form) -> dict[str, Any]:
        """The JSON document of the request that the form asks for.

        Raises ``FieldsError``: a field is missing or cannot be read.
        """
        form = self.complete(submitted)
        counting = [control for control in self._controls if control.counts(form)]
        fields, problems = _read(counting, form)
        try:
            for line in _settings(form):
                add_setting(fields, line)
        except ValueError as error:
            problems[ALSO] = str(error)
        for control in counting:
            if control.needed and control.path not in fields:
                problems.setdefault(control.name, control.needed)
        if problems:
            raise FieldsError(problems)
        try:
            return gathered(fields)
        except ValueError as error:
            raise FieldsError({ALSO: str(error)}) from None

    def filled(self, request: BaseModel, choices: Form) -> dict[str, str]:
        """The form as it asks for this request; ``choices`` are the values that ``when`` refers to."""
        paths = {control.path for control in self._controls}
        values, also = spread(request, paths, defaults=True), spread(request, paths)
        form = {**{control.name: "" for control in self._controls}, **choices}
        for control in self._controls:
            value = values.get(control.path)
            if control.counts(form) and control.kind.carries(value):
                text = control.kind.write(value)
                form[control.name] = "" if text == control.blank else text
                also.pop(control.path, None)
        return form | {ALSO: "\n".join(setting(path, value) for path, value in also.items())}

    def _problems(self, refusal: Refusal, form: Form) -> dict[str, str]:
        """What is wrong, by the name of the control that it is shown beside."""
        if isinstance(refusal, FieldsError):
            return refusal.problems
        if isinstance(refusal, RequestError):
            return {"filter" if isinstance(refusal, FilterError) else WHOLE_FORM: str(refusal)}
        complete = self.complete(form)
        names = {control.path: control.name for control in self._controls if control.counts(complete)}
        names |= {line.partition("=")[0].strip(): ALSO for line in _settings(complete)}
        problems: dict[str, str] = {}
        for error in refusal.errors():
            location = [str(part) for part in error["loc"]]
            if location[:1] == ["target"]:
                del location[1:2]  # the kind of target, which pydantic inserts for a tagged union
            paths = [".".join(location[:length]) for length in range(len(location), 0, -1)]
            name, path = next(((names[path], path) for path in paths if path in names), (WHOLE_FORM, ""))
            problem = reason(error)
            problems[name] = f"{path}: {problem}" if name == ALSO else problem
        return problems


def _read(controls: Sequence[Control], form: Form) -> tuple[Fields, dict[str, str]]:
    """The values by path, and what cannot be read by control."""
    fields: Fields = {}
    problems: dict[str, str] = {}
    for control in controls:
        text = form[control.name] or control.blank
        try:
            fields |= {control.path: control.kind.read(text)} if text else {}
        except ValueError:
            problems[control.name] = f"this field takes {control.kind.form}"
    return fields, problems


def _settings(form: Form) -> list[str]:
    return [line for line in form[ALSO].split("\n") if line.strip()]
