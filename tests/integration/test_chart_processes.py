"""The chart's pods, as rendered, on a real Kafka: ready, tested, upgraded and ended, with no count lost."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab import Lab
from lab.ports import LOOPBACK
from lab.topics import Topics
from tests import http, postgres, waiting
from tests.chart import tools
from tests.chart.conftest import built
from tests.chart.node import Node
from tests.chart.release import WITHIN_S, Release
from tests.chart.tools import MINIMAL, OPERATED, next_version, one, rendered
from tests.kafka_topics import connect_headers, messages, producing
from tests.names import fresh
from tests.postgres import Postgres

__all__ = ["built"]

LETTERS = 40
LOAD, BATCH = 1_200, 100
"""Dead letters that arrive before streaming is told to end, and how many records a batch takes."""
BACKUP = re.compile(r"-- (python -m streaming\.store backup) \\\n +(\S+) --config", re.MULTILINE)
"""The command of docs/operations.md, and the file."""
PROCESSES = ("collector", "streaming", "redrive", "api")


until = partial(waiting.until, within_s=WITHIN_S)


@pytest.fixture
def secrets(lab: Lab, postgres_server: Postgres) -> dict[str, dict[str, str]]:
    sasl = lab.sasl_ssl
    return {
        "kafka-user": {"username": sasl.username, "password": sasl.password},
        "kafka-ca": {"ca.crt": sasl.ca_file.read_text()},
        "store": {"password": postgres_server.password, "uri": postgres_server.database()},
        "api": {"token-pepper": "0123456789abcdef" * 4},
    }


def values(lab: Lab, name: str, **more: object) -> dict[str, Any]:
    return {
        "kafka": {
            "bootstrapServers": lab.sasl_ssl.bootstrap_servers,
            "securityProtocol": "SASL_SSL",
            "sasl": {"mechanism": lab.sasl_ssl.mechanism, "existingSecret": "kafka-user"},
            "tls": {"caSecret": "kafka-ca"},
        },
        "settings": {
            "events_topic": f"deadwatch.events.{name}",
            "dlq_topics": [f"dlq.{name}"],
            "quarantine_auto_create_topics_enable": True,
        },
        "api.auth.existingSecret": "api",
        "collector.settings.name": name,
        "collector.settings.connect": [{"url": lab.connect_url, "jolokia_url": lab.connect_jolokia_url}],
        **more,
    }


@pytest.fixture
def node(tmp_path: Path, secrets: dict[str, dict[str, str]]) -> Node:
    return Node(tmp_path, secrets)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


def fail(lab: Lab, name: str, first: int, count: int) -> None:
    """Dead letters as a sink writes them."""
    with producing(lab.bootstrap_servers) as producer:
        for number in range(first, first + count):
            headers = connect_headers(name, 0, number, connector_name="sink")
            producer.produce(f"dlq.{name}", b"%d" % number, b"k", 0, headers=headers)


def authorization(release: Release) -> dict[str, str]:
    """The first token, made where docs/operations.md makes it."""
    api = release.pods["api"]
    made = api.execute(
        *("deadwatch", "token", "create", "test", "--role", "admin", "--on-store"),
        *("--config", api.prepared.command[-1]),
    )
    return {"Authorization": f"Bearer {made.strip()}"}


def order(release: Release, name: str, access: dict[str, str]) -> str:
    """A redrive that takes its time; its id. ``access`` is the header that authorizes."""
    body = {
        "dlq_topic": f"dlq.{name}",
        "selection": {"all": True},
        "limits": {"records_per_second": 4},
        "dry_run": False,
        "confirm": LETTERS,
        "reason": "upgraded meanwhile",
    }
    answer = http.post(
        f"{release.pods['api'].url('http')}/api/v1/redrives",
        json=body,
        headers={"X-Requested-By": "test", **access},
        timeout=60,
    )
    assert answer.status_code == 202, answer.text
    made: str = answer.json()["id"]
    return made


def postgres_tool(name: str, *arguments: str) -> None:
    subprocess.run([postgres.binaries() / name, *arguments], check=True, capture_output=True)


def redrive_of(release: Release, name: str, access: dict[str, str]) -> Any:  # noqa: ANN401 -- JSON
    url = f"{release.pods['api'].url('http')}/api/v1/redrives/{name}"
    return http.get(url, headers=access).raise_for_status().json()


@pytest.mark.chaos
def test_a_secured_installation_is_ready_tested_upgraded_and_loses_nothing(
    lab: Lab, node: Node, stack: ExitStack, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    name = fresh("chart-")
    Topics(lab.bootstrap_servers).create(name, f"dlq.{name}", partitions=1)
    store = {
        "store.kind": "postgresql",
        "store.postgresql": {"existingSecret": "store", "urlKey": "uri"},
        "streaming.settings": {"max_dead_letters_per_trigger": BATCH},
    }
    before = Release(node, rendered(MINIMAL, values=values(lab, name, **store)), stack)

    assert "is up to date now" in before.run("Job", "store-upgrade")
    before.start(*PROCESSES)
    fail(lab, name, 0, LETTERS)

    def counted(release: Release) -> int:
        return release.figure("deadwatch_dead_letter_queue_records_total", dlq_topic=f"dlq.{name}")

    until(lambda: counted(before) == LETTERS, before.pods["streaming"].tail)
    assert f"collector:{name}" in before.run("Pod", "test")
    uri = node.secrets["store"]["uri"]
    dump = node.directory / "deadwatch.dump"
    postgres_tool("pg_dump", "--format=custom", f"--file={dump}", uri)

    access = authorization(before)
    redrive = order(before, name, access)
    until(lambda: redrive_of(before, redrive, access)["moved"] > 0, before.pods["redrive"].tail)

    more = store | {"streaming.settings": {"samples_per_group": 3}, "redrive.settings": {"lease_ms": 6_000}}
    newer = rendered(MINIMAL, values=values(lab, name, **more), chart=next_version(tmp_path))
    after = Release(node, newer, stack, dict(before.pods))
    assert "was up to date" in after.run("Job", "store-upgrade")
    fail(lab, name, LETTERS, LOAD)  # while nothing may be counted twice or not at all
    until(lambda: counted(before) > LETTERS, before.pods["streaming"].tail)
    took_s = before.stop("streaming")  # Recreate; batches are under way
    assert counted(before) < LETTERS + LOAD
    after.start("streaming")
    took_s |= before.stop("redrive", "collector")
    after.start("redrive", "collector")
    old_api = before.pods["api"]
    after.start("api")  # RollingUpdate: the new one answers before the old one ends
    took_s["api"] = old_api.terminate()

    until(lambda: redrive_of(after, redrive, access)["status"] == "COMPLETED", after.pods["redrive"].tail)
    until(lambda: counted(after) == LETTERS + LOAD, after.pods["streaming"].tail)
    arrived = [int(one.value() or b"") for one in messages(lab.bootstrap_servers, name)]
    assert arrived == list(range(LETTERS))
    took_s |= {f"{process} again": s for process, s in after.stop(*PROCESSES).items()}

    postgres_tool("pg_restore", "--clean", "--if-exists", f"--dbname={uri}", str(dump))
    after.start("streaming", "api")
    until(lambda: counted(after) == LETTERS + LOAD, after.pods["streaming"].tail)
    record_property("seconds_to_end", {process: round(s, 1) for process, s in took_s.items()})


def metrics_of_spark(release: Release) -> None:
    """Every endpoint of the PodMonitor answers as Prometheus reads it."""
    pod = release.pods["streaming"]
    ports = {port["containerPort"]: port["name"] for port in pod.container["ports"]}
    found: set[str] = set()
    for endpoint in one(release.manifests, "PodMonitor", "streaming")["spec"]["podMetricsEndpoints"]:
        url = pod.url(ports[endpoint["portNumber"]]) + endpoint["path"]
        answer = http.get(url)
        assert answer.status_code == 200, url
        found |= {family.name for family in text_string_to_metric_families(answer.text)}
    assert any(name.startswith("metrics_deadwatch_streaming_driver_") for name in found), found
    assert any(name.startswith("metrics_executor_") for name in found), found


def test_a_minimal_installation_on_one_node_is_ready_and_counts(
    lab: Lab, node: Node, stack: ExitStack
) -> None:
    name = fresh("chart-")
    Topics(lab.bootstrap_servers).create(name, f"dlq.{name}", partitions=1)
    plain = {"kafka": {"bootstrapServers": lab.bootstrap_servers}, "collector.settings": {"name": name}}
    settings = values(lab, name)["settings"]
    said = values(lab, name) | plain | {"settings": settings, "podMonitor.enabled": True}
    del said["collector.settings.name"], said["collector.settings.connect"]
    release = Release(node, rendered(MINIMAL, values=said, apis=OPERATED), stack)
    release.start("streaming", "collector", "redrive", "api")
    metrics_of_spark(release)
    fail(lab, name, 0, LETTERS)
    labels = {"dlq_topic": f"dlq.{name}"}
    counted = "deadwatch_dead_letter_queue_records_total"
    until(lambda: release.figure(counted, **labels) == LETTERS, release.pods["streaming"].tail)
    assert f"ready: http://{LOOPBACK}" in release.run("Pod", "test")

    store = node.directory / "claims" / "dw-deadwatch-store"
    backup = BACKUP.search((tools.ROOT / "docs" / "operations.md").read_text())
    assert backup, "the page tells no backup of SQLite"
    pod, copy = release.pods["streaming"], backup[2].replace("/var/lib/deadwatch/store", str(store))
    configured = pod.prepared.command[pod.prepared.command.index("--config") :]
    pod.execute(*backup[1].split(), copy, *configured)
    fail(lab, name, LETTERS, LETTERS)
    until(lambda: release.figure(counted, **labels) == 2 * LETTERS, release.pods["streaming"].tail)
    release.stop(*PROCESSES)

    pod.execute("python", "-m", "streaming.store", "restore", copy, *configured)
    release.start("streaming", "api")
    until(lambda: release.figure(counted, **labels) == 2 * LETTERS, release.pods["streaming"].tail)
    release.stop("streaming", "api")
