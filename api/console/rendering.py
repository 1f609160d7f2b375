"""Templates rendered to answers: how texts, numbers, times and stack traces are written on a page.

Topics, messages, headers and payloads are texts of other people: characters that could reorder a line, ring
a bell or move a cursor are shown by their code point, and a long text is cut. Of a stack trace of a JVM the
frames of libraries are apart, so that a page can fold them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeGuard
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from api.answers import instant
from api.auth.roles import READING
from api.console.visitor import visitor
from api.validation import reason
from deadwatch.runtime.version import VERSION

MAX_CHARS: Final = 20_000
"""What a page shows of one text."""

_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_THOUSAND: Final = 1_000
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


def plain(text: str) -> str:
    """The text with its control characters made visible, cut at ``MAX_CHARS``."""
    shown = _CONTROLS.sub(_named, text[:MAX_CHARS])
    rest = len(text) - MAX_CHARS
    return shown if rest <= 0 else f"{shown} … and {number(rest)} characters more"


def finalized(value: object) -> object:
    """What a template writes for a value: ``plain`` for a text, "" for None, markup of our own unchanged."""
    if value is None:
        return ""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def number(value: float) -> str:
    """A number with thousands separators, as 12,345."""
    return f"{value:,}"


def size(count: int | None) -> str:
    """A number of bytes with the unit that suits it, as 38.0 MB; None is a value that is null."""
    if count is None:
        return "null"
    amount, unit = float(count), 0
    while amount >= _THOUSAND and unit < len(_UNITS) - 1:
        amount, unit = amount / _THOUSAND, unit + 1
    return f"{count} B" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun, as 1 record and 2 records; ``many`` is the plural where it is not with an s."""
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"


_BEGINS: Final = re.compile(
    "(a|an|another|at|enter|every|filter|give|it|no|nothing|one|only|redrives?|set|sign|some|target|the|there|this"
    "|to|too|type|your)[ ,]"
)
"""Words with which our texts begin. Any other word may be the name of a topic or of a person, as it is."""


def sentence(text: str) -> str:
    """The text as a sentence: a capital letter at its begin and a full stop at its end; "" stays empty."""
    begin = text[:1].upper() if _BEGINS.match(text) else text[:1]
    return f"{begin}{text[1:]}{'' if not text or text.endswith(('.', '?', '!')) else '.'}"


def validation_text(errors: Sequence[Any], what: str, depth: int = 0) -> str:
    """What a validator has found, a sentence for each field; ``depth`` parts of a place are not its name."""
    return " ".join(
        _finding(".".join(map(str, error["loc"][depth:])), reason(error), what) for error in errors
    )


def _finding(name: str, why: str, what: str) -> str:
    return sentence(f"the {what} {name} is not valid: {why[:1].lower()}{why[1:]}" if name else why)


def duration(length_ms: int | None) -> str:
    """A duration in its two greatest units, as 2 h 5 min."""
    if length_ms is None:
        return "not known"
    if length_ms < _SECOND:
        return f"{length_ms} ms"
    for unit_ms, name, part_ms, part in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", _SECOND, "s"),
    ):
        if length_ms >= unit_ms:
            rest = length_ms % unit_ms // part_ms
            return f"{length_ms // unit_ms} {name}" + (f" {rest} {part}" if rest else "")
    return f"{length_ms / _SECOND:.1f} s"


def time(at: datetime | int | None) -> Markup:
    """An element that the page's script fills with local time; on hover and without the script it is UTC.

    ``at`` is a moment, or milliseconds since the epoch, of which 0 stands for never.
    """
    return _time_element(at, "%Y-%m-%d %H:%M")


def clock(at: datetime | int) -> Markup:
    """As ``time`` a moment of today, of which a page shows the hour and minute alone."""
    return Markup("<span data-clock>{}</span>").format(_time_element(at, "%H:%M"))


def _time_element(at: datetime | int | None, shown: str) -> Markup:
    at = instant(at) if isinstance(at, int) else at
    if at is None:
        return Markup('<span class="muted">never</span>')
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}" title="{} UTC">{} UTC</time>').format(
        utc.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        utc.strftime(shown),
    )


def short_class(name: str) -> str:
    """The name of an exception class without its package."""
    return name.rpartition(".")[2] or name


def _named(found: re.Match[str]) -> str:
    return f"⟨U+{ord(found[0]):04X}⟩"


_LIBRARIES = re.compile(
    r"(java|javax|jakarta|jdk|sun|com\.sun|kotlin|scala|kafka|org\.apache\.(kafka|avro|commons)|org\.slf4j"
    r"|org\.springframework|com\.fasterxml\.jackson|com\.google\.(common|protobuf)"
    r"|io\.(confluent|netty|micrometer)|reactor)\."
)
"""Packages of the JDK, Kafka and common libraries; a frame of any other class is of the user's own code."""
_FRAME = re.compile(r"^\s+at (?:[\w.\-@]*/)*(?P<name>[\w.$<>]+)\(", re.ASCII)


@dataclass(frozen=True, slots=True)
class TracePart:
    """Neighbouring lines of one kind: "text", "own" (a frame of the user's code) or "library"."""

    kind: str
    lines: tuple[str, ...]


def is_trace(value: object) -> TypeGuard[str]:
    """Whether it is a text, one of whose first 50 lines is a stack frame of a JVM."""
    return isinstance(value, str) and any(_FRAME.match(line) for line in value.splitlines()[:50])


def folded(text: str) -> list[TracePart]:
    """The trace in its order, with neighbouring lines of one kind together."""
    return [TracePart(kind, tuple(lines)) for kind, lines in groupby(text.splitlines(), key=_kind)]


def traces_among(headers: Iterable[tuple[str, object]]) -> list[tuple[str, list[TracePart]]]:
    """The headers, given by name and value, whose values are stack traces."""
    return [(name, folded(value)) for name, value in headers if is_trace(value)]


def _kind(line: str) -> str:
    frame = _FRAME.match(line)
    if frame is None:
        return "library" if line.strip().startswith("...") else "text"
    return "library" if _LIBRARIES.match(frame["name"]) else "own"


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
TEMPLATES: Final = Path(__file__).parent / "templates"
SEE_OTHER: Final = 303
UNAUTHORIZED: Final = 401
UNPROCESSABLE: Final = 422


_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=finalized,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(
    {write.__name__: write for write in (time, clock, number, size, duration, short_class, sentence, counted)}
)
_TEMPLATES.tests["trace"] = is_trace


def render(request: Request, template: str, status: int = 200, **context: object) -> HTMLResponse:
    """The template as an answer, with what every page needs to know about the visitor and its own address."""
    here = visitor(request)
    text = _TEMPLATES.get_template(template).render(
        root=root(request),
        version=VERSION,
        visitor=here,
        path=path_in_console(request, request.url.path),
        place=page_to_return_to(request),
        **context,
    )
    answer = HTMLResponse(text, status, HEADERS)
    here.remember(answer)
    return answer


def redirect(request: Request, path: str) -> RedirectResponse:
    """Send the browser to a page of the console (303 See Other); ``path`` begins with "/"."""
    return RedirectResponse(root(request) + path, SEE_OTHER)


def root(request: Request) -> str:
    """The path that the console is mounted at, with the prefix of a proxy before it."""
    return str(request.scope.get("root_path", ""))


def path_in_console(request: Request, path: str) -> str:
    """A path of the server without the console's mount point; at least "/"."""
    return path.removeprefix(root(request)) or "/"


MAX_ADDRESS_CHARS: Final = 8_000
"""A longer address of a page to return to is cut before its query."""


def page_to_return_to(request: Request) -> str:
    """The requested page; for a form, the page that has sent it."""
    if request.method in READING:
        page = urlsplit(str(request.url))
    else:
        try:
            page = urlsplit(request.headers.get("referer", ""))
        except ValueError:
            return "/"
        if page.netloc != request.headers.get("host") or not page.path.startswith(f"{root(request)}/"):
            return "/"
    path = path_in_console(request, page.path)
    address = f"{path}?{page.query}" if page.query else path
    return address if len(address) <= MAX_ADDRESS_CHARS else path
