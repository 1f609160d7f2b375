"""What an OTLP receiver gets of the api: requests by route, not health, nothing that was sent."""

# ruff: noqa: F401, F811 -- pytest finds the fixture ``receiver`` by its name

import logging
from pathlib import Path

import pytest

from api.settings import ApiSettings
from deadwatch.runtime.logs import add_context
from tests.caller import Caller
from tests.operators import caller
from tests.unit.collector.test_telemetry import Receiver, receiver, texts

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def traced(receiver: Receiver, store_url: str, tmp_path: Path) -> Caller:
    settings = ApiSettings(store_url=store_url, otel_endpoint=receiver.url)
    return caller(settings, tmp_path)


def test_a_request_is_a_span_of_its_route_and_of_the_caller_s_trace(
    receiver: Receiver, traced: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(add_context)
    caplog.set_level(logging.INFO)

    def noisy() -> None:
        logging.getLogger("noisy").info("here")

    traced.app.add_api_route("/noisy", noisy)
    with traced:
        told = traced.get("/api/v1/redrives/ff?x=1", headers={"traceparent": PARENT}).json()
        refused = traced.get("/api/v1/redrives/ff", headers={"traceparent": PARENT}).json()
        traced.get("/noisy", headers={"traceparent": PARENT, "X-Request-Id": "q-1"})
        traced.get("/livez")
        traced.get("/metrics")
    trace = PARENT.split("-")[1]
    assert told["trace_id"] == refused["trace_id"] == trace
    spans = receiver.spans()
    assert set(spans) == {"GET /api/v1/redrives/{order}", "GET /noisy"}
    span = spans["GET /api/v1/redrives/{order}"]
    assert span.trace_id.hex() == trace
    assert texts(span.attributes)["http.response.status_code"] == "404"
    (record,) = [record for record in caplog.records if record.name == "noisy"]
    assert record.context.startswith(f"[request_id=q-1 trace_id={trace} span_id=")  # type: ignore[attr-defined]  # set by the filter
    duration = receiver.metric("http.server.request.duration")
    assert {texts(point.attributes)["http.route"] for point in duration.histogram.data_points} == {
        "/api/v1/redrives/{order}",
        "/noisy",
    }


def test_no_token_and_no_body_leaves_with_it(receiver: Receiver, traced: Caller) -> None:
    with traced:
        traced.post("/api/v1/redrives", json={"reason": "hunter2", "dlq_topic": 7})
        traced.get("/console/sign-in/oidc/back?code=hunter2&state=hunter2")
        traced.get("/api/v1/dead-letters/groups?filter=message.contains(%22hunter2%22)")
    sent = traced.headers["authorization"].split("_")[2]
    written = str(receiver.traces) + str(receiver.metrics)
    assert "POST /api/v1/redrives" in written
    assert "hunter2" not in written
    assert sent not in written


def test_without_an_endpoint_nothing_is_traced(client: Caller) -> None:
    assert "trace_id" not in client.get("/nothing").json()
