"""Pages: a template, what every page knows, and the answer."""

from pathlib import Path
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api.console import texts
from api.console.visitor import visitor
from collector.version import VERSION

TEMPLATES: Final = Path(__file__).parent / "templates"
SEE_OTHER: Final = 303
UNPROCESSABLE: Final = 422


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=texts.finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "time": texts.time,
        "number": texts.number,
        "size": texts.size,
        "duration": texts.duration,
        "short_class": texts.short_class,
    }
    return environment


_TEMPLATES: Final = _environment()


def page(request: Request, template: str, status: int = 200, **context: object) -> HTMLResponse:
    """The page; a fragment of one when the template is one."""
    here = visitor(request)
    text = _TEMPLATES.get_template(template).render(
        root=root(request), version=VERSION, visitor=here, path=_path(request), **context
    )
    answer = HTMLResponse(text, status)
    here.remember(answer)
    return answer


def see(request: Request, path: str) -> RedirectResponse:
    """Send the browser to a page of the console; ``path`` begins with "/"."""
    return RedirectResponse(root(request) + path, SEE_OTHER)


def root(request: Request) -> str:
    """Where the console is mounted, behind whatever proxy."""
    return str(request.scope.get("root_path", ""))


def _path(request: Request) -> str:
    return request.url.path.removeprefix(root(request)) or "/"
