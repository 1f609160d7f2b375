"""``deadwatch ready``: waits until a service answers and its processes work; what ``helm test`` runs."""

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Final

import httpx2
import typer
from prometheus_client.parser import text_string_to_metric_families

SOURCE_UP: Final = "deadwatch_source_up"
LOOK_S: Final = 0.5
TIMEOUT_S: Final = 5
FORBIDDEN: Final = (401, 403)

READY, MISSING = 0, 1

Url = Annotated[str, typer.Option(envvar="DEADWATCH_URL", metavar="URL", help="Of the service.")]
Within = Annotated[int, typer.Option(min=0, metavar="SECONDS", help="How long to wait for it.")]
Source = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="As `deadwatch_source_up` has it; repeatable.")
]


def ready(*, source: Source = None, within: Within = 60, url: Url = "http://127.0.0.1:8000") -> None:
    """Wait until the service is ready and its processes work; else say what is missing, exit code 1.

    deadwatch ready --source streaming --source redrive --source collector:collector
    """
    raise typer.Exit(run(url, source or (), within, time.monotonic, time.sleep))


def run(
    url: str,
    sources: Sequence[str],
    within_s: int,
    now_s: Callable[[], float],
    pause_s: Callable[[float], None],
) -> int:
    """Look until nothing is missing or time is up; the exit code, a line for each thing on the way."""
    end_s = now_s() + within_s
    with httpx2.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False) as client:
        while missing := look(client, sources):
            if now_s() >= end_s:
                for line in missing:
                    print(f"missing: {line}")
                return MISSING
            pause_s(LOOK_S)
    print(f"ready: {url}" + "".join(f", {source}" for source in sources))
    return READY


def look(client: httpx2.Client, sources: Sequence[str]) -> list[str]:
    """What is missing now, a line each."""
    try:
        readiness = client.get("/readyz")
        if not readiness.is_success:
            return [f"/readyz answers {readiness.status_code}: {', '.join(_told(readiness))}"]
        return _down(client, sources) if sources else []
    except httpx2.TransportError as error:
        return [f"no answer from {client.base_url} ({error})"]


def _down(client: httpx2.Client, sources: Sequence[str]) -> list[str]:
    scrape = client.get("/metrics")
    if scrape.status_code in FORBIDDEN:
        print("sources are not looked at: /metrics needs a token here")
        return []
    if not scrape.is_success:
        return [f"/metrics answers {scrape.status_code}"]
    up = {
        sample.labels["source"]: sample.value
        for family in text_string_to_metric_families(scrape.text)
        for sample in family.samples
        if sample.name == SOURCE_UP
    }
    return [f"{source} {_state(up.get(source))}" for source in sources if not up.get(source)]


def _state(value: float | None) -> str:
    return "has never been heard of: see its log" if value is None else "is down: see its log"


def _told(answer: httpx2.Response) -> list[str]:
    try:
        missing = answer.json().get("missing", [])
    except ValueError:
        return ["it is not Deadwatch"]
    return [str(one) for one in missing]
