"""Request ids and OpenTelemetry of the api.

Every request has an id: in the answer's ``X-Request-Id``, in problems, in the audit and in log lines. An id
that the client sends is used where it is short and plain; otherwise there is a new one.

FastAPI's own spans and metrics are sent by OTLP/HTTP where an endpoint is set. Request bodies, headers and
validated values are never part of them, nor are codes of a sign-in and filters. Health and scrapes are left
out: they would be most of the spans. An endpoint that does not answer is one line of the log at each change.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final
from urllib.parse import parse_qsl, urlencode

from fastapi.telemetry import TelemetryConfig
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.trace import get_current_span

from deadwatch.runtime.logs import facts
from deadwatch.runtime.otel import providers_of, trace_ids

LEFT_OUT: Final = frozenset({"/livez", "/readyz", "/metrics"})
QUERY: Final = "url.query"
PRIVATE: Final = frozenset({"code", "state", "session_state", "error_description", "next", "filter", "why"})
"""Parameters with which one could sign in, or that may hold payloads."""
OFF: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def telemetry_of(endpoint: str, environ: Mapping[str, str]) -> tuple[TelemetryConfig, Callable[[], None]]:
    """The configuration for FastAPI, and what sends the rest at the end; nothing is sent without an endpoint,
    in the settings or in the environment.
    """
    providers = providers_of("api", "", endpoint, environ)
    if not isinstance(providers.tracers, TracerProvider):
        return OFF, lambda: None
    providers.tracers.add_span_processor(_Redaction())
    config: TelemetryConfig = {
        "tracer_provider": providers.tracers,
        "meter_provider": providers.meters,
        "logs": False,  # they would hold what was sent
        "operation_spans": False,
        "auto_configure": False,
        "exclude": lambda scope: scope.get("path") in LEFT_OUT,
    }
    return config, providers.shut_down


class _Redaction(SpanProcessor):
    """Leaves the values of private parameters out of the queries that spans hold."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Replace them; called before anything is sent."""
        del parent_context
        query = str((span.attributes or {}).get(QUERY, ""))
        if query:
            shown = [
                (name, "REDACTED" if name in PRIVATE else value)
                for name, value in parse_qsl(query, keep_blank_values=True)
            ]
            span.set_attribute(QUERY, urlencode(shown))


def trace_id() -> str:
    """The trace of the current request; "": it is not traced."""
    return trace_ids(get_current_span()).get("trace_id", "")


HEADER: Final = "X-Request-Id"
PLAIN: Final = re.compile(r"[0-9A-Za-z._-]{1,64}")
"""An id that a client may choose."""
_current: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    """The id of the current request; "": there is none."""
    return _current.get()


@contextmanager
def log_context(request_id: str) -> Iterator[None]:
    """The current request has this id; log lines inside carry it, and the ids of its span if it is traced."""
    _current.set(request_id)
    with facts(request_id=request_id, **trace_ids(get_current_span())):
        yield
