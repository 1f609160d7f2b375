"""One cause: how it grew, its newest records, what was tried, and what to do."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from api.console import command_line, comparison, stack_traces
from api.console.charts import bars
from api.console.pages import page
from api.routes import dead_letters, group_notes, redrives
from api.routes.dead_letters import Fingerprint
from api.schemas import DeadLetterGroupDetail, Sample
from api.service import Serving
from streaming.redrive.order import OrderRequest, Selection
from streaming.store import orders

router = APIRouter(prefix="/groups")


@router.get("/{fingerprint}")
def group(request: Request, service: Serving, fingerprint: Fingerprint) -> HTMLResponse:
    """Everything that is known of it."""
    told = dead_letters.detail(service, fingerprint)
    with service.store.read() as connection:
        history = orders.naming_group(connection, told.dlq_topic, fingerprint)
    return page(
        request,
        "group.html",
        told=told,
        note=group_notes.note(service, fingerprint, Response()),
        trend=bars(told.trend, service.now_ms()),
        samples=[(sample, _traces(sample)) for sample in told.samples],
        differing=comparison.differing(dead_letters.detail(service, fingerprint, unmasked=True).samples),
        redrives=redrives.answers(service, reversed(history)),
        command=command_line.redrive(_whole(told)),
    )


def _traces(sample: Sample) -> list[tuple[str, list[stack_traces.Part]]]:
    """The stack traces among its headers, by header."""
    return [
        (header.name, stack_traces.folded(header.value))
        for header in sample.headers
        if header.value is not None and stack_traces.is_trace(header.value)
    ]


def _whole(told: DeadLetterGroupDetail) -> OrderRequest:
    """The order for the whole group, as the command line would make it."""
    selection = Selection(group=told.fingerprint)
    return OrderRequest(dlq_topic=told.dlq_topic, selection=selection, reason="say why")
