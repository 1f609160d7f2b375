"""What the service needs of Connect: REST, a Jolokia agent on every worker, clocks that agree."""

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

import httpx2

from api.checks.finding import Finding, fail, ok, short, warn
from collector.settings import ConnectSettings
from deadwatch.service import Service

WITHIN_S = 5
CLOCKS_APART_MS = 5_000


def connect(service: Service) -> Iterator[Finding]:
    """Every Connect cluster answers, each worker's agent too, and their clocks agree with ours."""
    if not service.collector.connect:
        yield warn("Connect", "none to watch", "give --connect-url URL to see abandoned tasks and connectors")
    for cluster in service.collector.connect:
        try:
            answer = httpx2.get(cluster.url, timeout=WITHIN_S, trust_env=False).raise_for_status()
            workers = _workers(cluster)
        except (httpx2.HTTPError, ValueError) as error:
            yield fail(
                "Connect",
                f"{cluster.url} does not answer: {short(error)}",
                "check --connect-url and the worker",
            )
            continue
        yield ok("Connect", f"{cluster.url} is version {answer.json().get('version', 'unknown')}")
        yield from _clock(cluster, answer)
        for worker in workers:
            yield _jolokia(cluster, worker)


def _workers(cluster: ConnectSettings) -> list[str]:
    """HOST:PORT of every worker that runs something, the one we asked always among them."""
    answer = httpx2.get(
        f"{cluster.url.rstrip('/')}/connectors",
        params={"expand": "status"},
        timeout=WITHIN_S,
        trust_env=False,
    )
    statuses = [entry["status"] for entry in answer.raise_for_status().json().values()]
    asked = httpx2.URL(cluster.url)
    return sorted(
        {f"{asked.host}:{asked.port or 80}"}
        | {status["connector"]["worker_id"] for status in statuses}
        | {task["worker_id"] for status in statuses for task in status["tasks"]}
    )


def _clock(cluster: ConnectSettings, answer: httpx2.Response) -> Iterator[Finding]:
    """Compare the header Date, whole seconds, with our clock; Kafka's protocol tells no time."""
    if "date" not in answer.headers:
        yield warn(
            "clock", f"{cluster.url} sends no Date", "compare the clocks by hand: latencies depend on them"
        )
        return
    theirs_ms = int(parsedate_to_datetime(answer.headers["date"]).timestamp() * 1_000)
    apart_ms = abs(time.time_ns() // 1_000_000 - theirs_ms)
    if apart_ms > CLOCKS_APART_MS:
        yield warn("clock", f"{cluster.url} is {apart_ms} ms apart", "synchronise the clocks (NTP)")
    else:
        yield ok("clock", f"{cluster.url} agrees within {max(apart_ms, 1_000)} ms (brokers cannot be asked)")


def _jolokia(cluster: ConnectSettings, worker: str) -> Finding:
    """The agent of a worker tells which threads still run."""
    if not cluster.jolokia_url:
        return warn(
            "Jolokia",
            f"not configured for {worker}",
            "give --jolokia-url: only threads show that a task still hangs",
        )
    host, _, port = worker.rpartition(":")
    url = cluster.jolokia_url.format(host=host, port=port)
    try:
        version = (
            httpx2.get(url.rstrip("/") + "/version", timeout=WITHIN_S, trust_env=False)
            .raise_for_status()
            .json()
        )
        return ok("Jolokia", f"{url} is version {version['value']['agent']}")
    except (httpx2.HTTPError, ValueError, LookupError, TypeError) as error:
        return warn(
            "Jolokia", f"{url} does not answer: {short(error)}", "start the worker with the Jolokia agent"
        )
