"""``deadwatch doctor``: what stands in the way of the service, a line each with what to do about it.

Its checks are of this machine (Java, jars, disk, port, log files), of Kafka, and of Connect: REST, a
Jolokia agent on every worker, clocks that agree.
"""

import glob
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path

import httpx2
from rich.console import Console

import jars
from api.checks import Check, Finding, Level, api_checks, fail, kafka, ok, redrive, short, warn
from cli.commands.tables import FittedTable
from cli.commands.up import require_free
from cli.service import Service
from collector.settings import ConnectSettings
from deadwatch.runtime.http_client import client
from deadwatch.runtime.process import SettingsError
from jars.cache import Manifest, present

LITTLE_DISK_BYTES = 1 << 30
WITHIN_S = 5
CLOCKS_APART_MS = 5_000
ALIVE = {"alive": True}
"""What the api answers at /livez."""


def run(service: Service) -> int:
    """Check the machine, then Kafka and Connect; the exit code is 1 where a check fails."""
    return report(
        [
            java,
            archives,
            partial(data, service),
            partial(api_checks.store, service.streaming.store_url),
            partial(port, service),
            partial(logs, service),
            partial(of_kafka, service),
            partial(connect, service),
            partial(api_checks.identity, service.api.oidc),
        ]
    )


def of_kafka(service: Service) -> Iterator[Finding]:
    """Check what the collector and the redrive need of Kafka."""
    collector = service.collector
    topic = partial(kafka.events_topic, collector.events_topic, collector.events_topic_partitions)
    logs = partial(kafka.log_topics, [logs.topic for logs in collector.log_topics])
    return kafka.kafka(collector.kafka, (topic, logs, partial(redrive.redrive, service.redrive)))


def report(checks: Sequence[Check]) -> int:
    """Print a table on a terminal, else a plain line for each finding as it comes; the exit code."""
    findings = (finding for check in checks for finding in check())
    found: list[Finding] = []
    if sys.stdout.isatty():
        console = Console()
        with console.status("looking"):
            found += findings
        console.print(table(found))
    else:
        for finding in findings:
            print(line(finding), flush=True)
            found.append(finding)
    return int(any(finding.level is Level.FAIL for finding in found))


def line(finding: Finding) -> str:
    """A finding as plain text."""
    advice = f"; {finding.advice}" if finding.advice else ""
    return f"{finding.level:4}  {finding.subject}: {finding.seen}{advice}"


def table(found: Sequence[Finding]) -> FittedTable:
    """All findings as a table for a terminal."""
    rows = [(one.level, one.subject, one.seen, one.advice) for one in found]
    return FittedTable("What Deadwatch would meet", ("", "what", "seen", "what to do"), rows)


def java() -> Iterator[Finding]:
    """Check that there is a Java on which Spark runs."""
    try:
        found = jars.find_java()
        yield ok("Java", f"{found.version} at {found.path}")
    except jars.JavaError as error:
        yield fail("Java", "not usable", str(error))


def archives() -> Iterator[Finding]:
    """Check that every jar that was made here is there and has its SHA-256."""
    try:
        home = jars.directory("spark").parent
    except jars.JarsError as error:
        yield fail("jars", "missing", str(error))
        return
    manifest = Manifest.read().of_confs(present())
    damaged = manifest.damaged(home)
    if damaged:
        command = f"{sys.executable} -m jars"
        advice = f"run `{command} --verify`, then `{command}`"
        yield fail("jars", f"damaged: {', '.join(damaged)}", advice)
    else:
        yield ok("jars", f"{len(manifest.jars)} verified")


def data(service: Service) -> Iterator[Finding]:
    """Check that the data directory can be written and has room."""
    place = next(path for path in (service.data, *service.data.absolute().parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        yield fail("data directory", f"{place} cannot be written", "give another --data DIR")
        return
    free = shutil.disk_usage(place).free
    seen = f"{service.data}, {free / (1 << 30):.1f} GiB free"
    if free < LITTLE_DISK_BYTES:
        yield warn("data directory", seen, "make room: the store grows to some 100 MB")
    else:
        yield ok("data directory", seen)


def port(service: Service) -> Iterator[Finding]:
    """Check that the port of the api is free, or is Deadwatch's already."""
    address = f"{service.api.host}:{service.api.port}"
    try:
        require_free(service.api.host, service.api.port)
        yield ok("port", f"{address} is free")
    except SettingsError:
        if _is_deadwatch(service.url):
            yield ok("port", f"Deadwatch answers at {service.url}")
        else:
            yield fail("port", f"{address} is taken", "stop what listens there or give another --port")


def _is_deadwatch(url: str) -> bool:
    try:
        return bool(_get(f"{url}/livez").json() == ALIVE)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
        return False


def logs(service: Service) -> Iterator[Finding]:
    """Check that the log files to follow are there and may be read."""
    if not (service.collector.logs or service.collector.log_topics):
        yield warn("logs", "none to follow", "give --log GLOB: task and delivery timeouts are only in logs")
    for followed in service.collector.logs:
        files = [Path(name) for name in glob.glob(followed.path, recursive=True)]  # noqa: PTH207 -- globs may be absolute
        closed = [file for file in files if not os.access(file, os.R_OK)]
        if not files:
            advice = "fine if it is still to come; else correct --log"
            yield warn("log", f"{followed.path} matches no file", advice)
        elif closed:
            yield fail("log", f"{closed[0]} cannot be read", "give this user the right to read it")
        else:
            yield ok("log", f"{followed.path}, {len(files)} {'file' if len(files) == 1 else 'files'}")


def connect(service: Service) -> Iterator[Finding]:
    """Check that every Connect cluster and each worker's agent answer, and that their clocks agree."""
    if not service.collector.connect:
        yield warn("Connect", "none to watch", "give --connect-url URL to see abandoned tasks and connectors")
    for cluster in service.collector.connect:
        try:
            answer = _get(cluster.url)
            version, workers = answer.json().get("version", "unknown"), _workers(cluster)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            seen = f"{cluster.url} does not answer: {short(error)}"
            yield fail("Connect", seen, "check --connect-url and the worker")
            continue
        except (AttributeError, LookupError, TypeError):
            yield fail("Connect", f"{cluster.url} is not Connect", "check --connect-url and the worker")
            continue
        yield ok("Connect", f"{cluster.url} is version {version}")
        yield from _clock(cluster, answer)
        for worker in workers:
            yield _jolokia(cluster, worker)


def _get(url: str) -> httpx2.Response:
    with client(WITHIN_S * 1_000) as http:
        return http.get(url).raise_for_status()


def _workers(cluster: ConnectSettings) -> list[str]:
    """HOST:PORT of every worker that runs something, and of the one at the URL."""
    answer = _get(f"{cluster.url.rstrip('/')}/connectors?expand=status")
    statuses = [entry["status"] for entry in answer.json().values()]
    url = httpx2.URL(cluster.url)
    return sorted(
        {f"{url.host}:{url.port or 80}"}
        | {status["connector"]["worker_id"] for status in statuses}
        | {task["worker_id"] for status in statuses for task in status["tasks"]}
    )


def _clock(cluster: ConnectSettings, answer: httpx2.Response) -> Iterator[Finding]:
    """Compare the header Date, whole seconds, with our clock; Kafka's protocol tells no time."""
    try:
        theirs_ms = int(parsedate_to_datetime(answer.headers.get("date", "")).timestamp() * 1_000)
    except (ValueError, OverflowError):
        advice = "compare the clocks by hand: latencies depend on them"
        yield warn("clock", f"{cluster.url} sends no Date that can be read", advice)
        return
    apart_ms = abs(time.time_ns() // 1_000_000 - theirs_ms)
    if apart_ms > CLOCKS_APART_MS:
        yield warn("clock", f"{cluster.url} is {apart_ms} ms apart", "synchronise the clocks (NTP)")
    else:
        yield ok("clock", f"{cluster.url} agrees within {max(apart_ms, 1_000)} ms (brokers cannot be asked)")


def _jolokia(cluster: ConnectSettings, worker: str) -> Finding:
    """Check that the Jolokia agent of a worker answers; only it shows which threads still run."""
    if not cluster.jolokia_url:
        advice = "give --jolokia-url: only threads show that a task still hangs"
        return warn("Jolokia", f"not configured for {worker}", advice)
    host, _, port = worker.rpartition(":")
    url = cluster.jolokia_url.format(host=host, port=port)
    try:
        version = _get(f"{url.rstrip('/')}/version").json()["value"]["agent"]
        return ok("Jolokia", f"{url} is version {version}")
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, LookupError, TypeError) as error:
        seen = f"{url} does not answer: {short(error)}"
        return warn("Jolokia", seen, "start the worker with the Jolokia agent")
