"""The scrape."""

from typing import Annotated

from fastapi import APIRouter, Header, Response

from api.metrics.samples import Moment
from api.service import Serving

router = APIRouter(tags=["metrics"])


@router.get("/metrics", response_class=Response)
def metrics(service: Serving, accept: Annotated[str, Header()] = "") -> Response:
    """Every metric of the catalogue, as Prometheus text or, by ``Accept``, as OpenMetrics."""
    moment = Moment(service.now_ms(), service.settings.source_stale_ms)
    body, content_type = service.exposition.body(moment, accept)
    return Response(body, headers={"Content-Type": content_type})
