"""Dead letters of real writers, put back by ``deadwatch up`` and ``deadwatch redrive``: once each."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, share
from lab.connect import json_sink
from lab.topics import Topics
from tests import http
from tests.command_line import deadwatch
from tests.integration.up_process import Up, running
from tests.kafka_topics import Headers, headers_of, messages, producing
from tests.names import fresh
from tests.waiting import until

CONNECT_RECORDS, SHARE_RECORDS = 30, 8
WITHIN_S = 120
COLD_S = 300
"""How long Spark may take for its first batch on a machine that is busy."""
Told = dict[str, bytes]


@dataclass(frozen=True)
class Way:
    """A topic, and where its dead letters go."""

    source: str
    dlq: str
    count: int
    name: str = ""

    def fail(self, lab: Lab, value: bytes) -> None:
        with producing(lab.bootstrap_servers) as producer:
            for number in range(self.count):
                headers: Headers = [("mine", b"h%d" % number)]
                producer.produce(self.source, value % number, b"k%d" % number, headers=headers)

    def redriven(self, lab: Lab, order: str, rounds: int = 2) -> list[tuple[bytes, bytes, Told]]:
        """Keys, values and headers of the records that the order has put back, committed ones only."""
        every = list(messages(lab.bootstrap_servers, self.source))
        assert len(every) == rounds * self.count
        found = [(one.key() or b"", one.value() or b"", headers_of(one)) for one in every]
        moved = [one for one in found if one[2].get("deadwatch.redrive.id") == order.encode()]
        return sorted(moved, key=lambda one: int(one[0][1:]))


@pytest.fixture
def of_connect(lab: Lab) -> Iterator[Way]:
    """Dead letters of a sink that was fixed since."""
    name = fresh()
    way, topics = Way(f"in-{name}", f"dlq.in-{name}", CONNECT_RECORDS), Topics(lab.bootstrap_servers)
    topics.create(way.source)
    sink = f"{lab.connect_url}/connectors/sink-{name}"
    broken = json_sink(lab.logs.connect.with_name(f"{name}.txt")) | {
        "topics": way.source,
        "errors.deadletterqueue.topic.name": way.dlq,
    }
    deploy(sink, broken)
    way.fail(lab, b'{"order":%d')
    topics.wait_beyond(way.dlq, way.count - 1)
    fix(lab, sink, broken | {"value.converter": "org.apache.kafka.connect.storage.StringConverter"})
    yield way
    http.delete(sink).raise_for_status()


def deploy(sink: str, config: dict[str, str]) -> None:
    """Start a connector, and wait until its only task runs."""
    _configure(sink, config)

    def runs() -> bool:
        status = http.get(f"{sink}/status")
        return status.is_success and [task["state"] for task in status.json()["tasks"]] == ["RUNNING"]

    until(runs, "the sink does not run")


def fix(lab: Lab, sink: str, config: dict[str, str]) -> None:
    """Change a sink, and wait until its task has started anew: REST calls the one before RUNNING, too."""
    started = f"WorkerSinkTask{{id={sink.rpartition('/')[2]}-0}} Sink task finished initialization and start"
    before = lab.logs.connect.read_text().count(started)
    _configure(sink, config)
    until(lambda: lab.logs.connect.read_text().count(started) > before, "the sink does not start anew")


def _configure(sink: str, config: dict[str, str]) -> None:
    """Connect refuses while its group rebalances."""

    def configured() -> bool:
        answer = http.put(f"{sink}/config", json=config)
        return answer.status_code != HTTPStatus.CONFLICT and bool(answer.raise_for_status())

    until(configured, "the settings are not accepted")


@pytest.fixture
def of_share_group(lab: Lab) -> Way:
    """Dead letters that carry no payload."""
    name = fresh()
    way, topics = (
        Way(f"shared-{name}", f"dlq.shared-{name}", SHARE_RECORDS, name),
        Topics(lab.bootstrap_servers),
    )
    topics.create(way.source)
    share.configure(lab.bootstrap_servers, name, way.dlq)
    way.fail(lab, b'{"order":%d}')
    share.reject(lab.bootstrap_servers, way.count, name, way.source)
    topics.wait_beyond(way.dlq, way.count - 1)
    return way


@pytest.fixture(scope="module")
def up(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    name, directory = fresh(), tmp_path_factory.mktemp("up")
    file = directory / "deadwatch.yaml"
    file.write_text(
        f"kafka: {{bootstrap_servers: '{lab.bootstrap_servers}'}}\n"
        f"events_topic: deadwatch.events.{name}\ncollector: {{name: {name}}}\n"
    )
    with running(file, directory) as started:
        until(lambda: started.figure("deadwatch_source_up", kind="redrive") == 1, "no worker was heard")
        until(lambda: started.figure("deadwatch_source_up", kind="kafka") == 1, "nothing is read", COLD_S)
        yield started


def redrive(up: Up, way: Way, *arguments: str, during: Callable[[], None] = lambda: None) -> Any:  # noqa: ANN401 -- JSON
    """What ``deadwatch redrive`` tells at its end."""
    command = [sys.executable, "-m", "cli", "redrive", way.dlq, "--reason", "fixed", "--json"]
    with subprocess.Popen(
        [*command, *arguments, "--url", up.url, "--token-file", str(up.token_file)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        during()
        told, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 0
    return json.loads(told)


def sent(up: Up, way: Way) -> int:
    labels = {"dlq_topic": way.dlq, "target_topic": way.source, "outcome": "sent"}
    return up.figure("deadwatch_redrive_records_total", **labels)


def test_dead_letters_of_connect_go_back_once_each_though_the_worker_is_stopped(
    lab: Lab, up: Up, of_connect: Way
) -> None:
    topics = Topics(lab.bootstrap_servers)

    def stop_the_worker() -> None:
        until(lambda: topics.end(of_connect.source) > CONNECT_RECORDS, "nothing was moved")
        up.child("redrive").terminate()

    order = redrive(up, of_connect, "--all", "--yes", "--rate", "10", during=stop_the_worker)

    assert (order["status"], order["to_move"]) == ("COMPLETED", CONNECT_RECORDS)
    assert order["progress"]["text"] == f"all {CONNECT_RECORDS} moved", "the counts were waited for"
    found = of_connect.redriven(lab, order["id"])
    assert [(key, value) for key, value, _ in found] == [
        (b"k%d" % number, b'{"order":%d' % number) for number in range(CONNECT_RECORDS)
    ]
    for number, (_, _, headers) in enumerate(found):
        assert (headers["mine"], headers["deadwatch.redrive.attempts"]) == (b"h%d" % number, b"1")
        assert headers["__connect.errors.topic"] == of_connect.source.encode()
    until(lambda: sent(up, of_connect) == CONNECT_RECORDS, "the metric does not tell what was moved")
    until(lambda: "redrive ended with exit code 0, restarting" in up.errors.read_text(), up.errors.read_text)

    left = redrive(up, of_connect, "--all", "--dry-run")["plan"]
    again = redrive(up, of_connect, "--all", "--again", "--dry-run")["plan"]
    back = redrive(up, of_connect, "--filter", "attempts > 0", "--dry-run")["plan"]
    assert (left["to_move"], left["skip_reasons"]) == (0, {"already_moved": CONNECT_RECORDS})
    assert (again["to_move"], again["skip_reasons"]) == (CONNECT_RECORDS, {})
    assert (back["to_move"], back["skip_reasons"]) == (0, {})  # a dead letter topic keeps what it has


def test_rejected_records_of_a_share_group_go_back_as_they_were(
    lab: Lab, up: Up, of_share_group: Way
) -> None:
    order = redrive(up, of_share_group, "--all", "--yes")

    assert (order["status"], order["plan"]["rehydrated"]) == ("COMPLETED", SHARE_RECORDS)
    found = of_share_group.redriven(lab, order["id"])
    assert [(key, value, headers["mine"]) for key, value, headers in found] == [
        (b"k%d" % number, b'{"order":%d}' % number, b"h%d" % number) for number in range(SHARE_RECORDS)
    ]
    until(lambda: sent(up, of_share_group) == SHARE_RECORDS, "the metric does not tell what was moved")

    def now() -> Any:  # noqa: ANN401 -- JSON
        return http.get(f"{up.url}/api/v1/overview").json()["redrives"]

    idle = {"running": 0, "paused": 0, "workers": 1, "warning": None}
    until(lambda: now() == idle, lambda: f"{now()} is not {idle}")  # who was stopped is forgotten


def ordered(up: Up, way: Way, behind: Any = None) -> Any:  # noqa: ANN401 -- JSON
    """An order about what has come behind another one, at its end."""
    first = behind["cut_off"] if behind else {"0": 0}
    request = {
        "dlq_topic": way.dlq,
        "selection": {"offsets": {at: [offset, 1_000_000] for at, offset in first.items()}},
        "retry": {"max_attempts": 2, "retry_backoff_ms": 0},
        "dry_run": False,
        "reason": "fixed, or not",
    }
    answer = http.post(f"{up.url}/api/v1/redrives", json=request, headers=up.authorization)
    told = answer.raise_for_status().json()
    until(lambda: as_it_is(up, told)["status"] == "COMPLETED", lambda: str(as_it_is(up, told)))
    return as_it_is(up, told)


def as_it_is(up: Up, order: Any) -> Any:  # noqa: ANN401 -- JSON
    return http.get(f"{up.url}/api/v1/redrives/{order['id']}").raise_for_status().json()


def test_what_a_share_group_rejects_again_has_bounced_and_is_parked_in_the_end(
    lab: Lab, up: Up, of_share_group: Way
) -> None:
    """Its dead letters keep no headers: offsets tell the return, the record at its origin the attempts."""
    way, topics = of_share_group, Topics(lab.bootstrap_servers)

    def rejected_again(order: Any, attempt: int) -> None:  # noqa: ANN401 -- JSON
        headers = [told for _, _, told in way.redriven(lab, order["id"], attempt + 1)]
        assert [told["deadwatch.redrive.attempts"] for told in headers] == [b"%d" % attempt] * SHARE_RECORDS
        assert share.reject(lab.bootstrap_servers, way.count, way.name, way.source) == way.count
        topics.wait_beyond(way.dlq, (attempt + 1) * way.count - 1)
        until(
            lambda: as_it_is(up, order)["bounced"] == SHARE_RECORDS,
            lambda: f"it is not known what came back: {as_it_is(up, order)}",
        )

    first = ordered(up, way)
    until(lambda: as_it_is(up, first)["moved"] == SHARE_RECORDS, "nothing was moved")
    assert as_it_is(up, first)["bounced"] == 0
    rejected_again(first, 1)
    second = ordered(up, way, first)
    rejected_again(second, 2)
    third = ordered(up, way, second)
    until(lambda: as_it_is(up, third)["parked"] == SHARE_RECORDS, "nothing was parked")
    assert as_it_is(up, third)["moved"] == 0
    assert topics.end(f"{way.dlq}.parked") >= SHARE_RECORDS
    labels = {"dlq_topic": way.dlq, "target_topic": way.source, "outcome": "bounced"}
    assert up.figure("deadwatch_redrive_records_total", **labels) == 2 * SHARE_RECORDS
    (cause,) = [one for one in causes(up) if one["dlq_topic"] == way.dlq]
    told = http.get(f"{up.url}/api/v1/dead-letters/groups/{cause['fingerprint']}").json()
    assert (told["redriven"], told["returned"], told["settled"], told["success_rate"]) == (
        2 * SHARE_RECORDS,
        2 * SHARE_RECORDS,
        0,
        0.0,
    )


def causes(up: Up) -> Any:  # noqa: ANN401 -- JSON
    url = f"{up.url}/api/v1/dead-letters/groups?limit=100"
    return http.get(url).raise_for_status().json()["items"]


def test_the_doctor_tells_what_a_redrive_may(lab: Lab, of_share_group: Way, tmp_path: Path) -> None:
    del of_share_group
    asked = ("doctor", "--bootstrap-servers", lab.bootstrap_servers, "--port", "0", "--data", str(tmp_path))
    told = deadwatch(*asked, within_s=WITHIN_S).stdout
    found = [
        line.partition("redrive: ")[2] for line in told.splitlines() if line.startswith("ok    redrive: ")
    ]
    assert found[:3] == [
        "group deadwatch-redrive-* may be seen",
        "transactional id deadwatch-redrive-* may be seen",
        "transaction.max.timeout.ms of the brokers is 900000",
    ], told
    assert (found[3].startswith("dead letter topics: READ on "), found[-1]) == (
        True,
        "topics that dead letters came from: WRITE on 0 of 0",
    ), told
    assert "warn  redrive: one replica: __consumer_offsets, __transaction_state, " in told
