"""The lab itself: every act yields its truth, and nothing stays behind."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

import jars
from lab import Lab, LabError, Truth
from lab.http import call
from lab.jolokia import threads_named
from lab.processes import read

pytestmark = pytest.mark.integration
WITHIN_S = 60.0


def eventually(condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + WITHIN_S
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


def headers_of(lab: Lab, topic: str, count: int) -> list[dict[str, str | bytes | None]]:
    """The headers of the first ``count`` records of a topic."""
    consumer = Consumer(
        {"bootstrap.servers": lab.bootstrap_servers, "group.id": "test", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        messages = [message for message in consumer.consume(count, WITHIN_S) if message.error() is None]
    finally:
        consumer.close()
    return [dict(message.headers() or []) for message in messages]


def task_state(lab: Lab, connector: str) -> str:
    [task] = call(f"{lab.connect_url}/connectors/{connector}/status")["tasks"]
    return str(task["state"])


def test_an_abandoned_task_leaves_a_thread_and_a_release_ends_it(lab: Lab) -> None:
    before = lab.truth
    lab.abandon_task("pipe-a")
    assert lab.truth - before == Truth(abandoned_tasks_current=1, abandoned_tasks_total=1)
    assert read(lab.logs.connect).count("Graceful stop of task pipe-a-0 failed.") == 1
    assert threads_named(lab.connect_jolokia_url, "task-thread-pipe-a-0") == 2
    assert task_state(lab, "pipe-a") == "RUNNING"
    lab.release_task("pipe-a")
    assert lab.truth - before == Truth(abandoned_tasks_total=1)
    assert threads_named(lab.connect_jolokia_url, "task-thread-pipe-a-0") == 1


def test_a_task_can_be_abandoned_again_after_a_release(lab: Lab) -> None:
    before = lab.truth
    lab.abandon_task("pipe-b")
    lab.release_task("pipe-b")
    lab.abandon_task("pipe-b")
    lab.abandon_task("pipe-b")
    assert lab.truth - before == Truth(abandoned_tasks_current=2, abandoned_tasks_total=3)
    assert threads_named(lab.connect_jolokia_url, "task-thread-pipe-b-0") == 3
    lab.release_task("pipe-b")
    assert threads_named(lab.connect_jolokia_url, "task-thread-pipe-b-0") == 1


def test_releasing_what_is_not_abandoned_is_refused(lab: Lab) -> None:
    with pytest.raises(LabError, match="no task of 'pipe-z' is abandoned"):
        lab.release_task("pipe-z")


def test_a_stalled_broker_makes_tasks_time_out_and_batches_expire_time_and_again(lab: Lab) -> None:
    lab.abandon_task("pipe-c")
    for _ in range(2):
        before = lab.truth
        lab.stall_broker()
        stalled = lab.truth - before
        assert stalled.task_timeouts > 0
        assert stalled.expired_records >= stalled.expired_batches > 0
        assert stalled.abandoned_tasks_total == 0
    assert threads_named(lab.connect_jolokia_url, "task-thread-pipe-c-0") == 2
    assert task_state(lab, "pipe-c") == "RUNNING"
    lab.release_task("pipe-c")


def test_rejected_records_are_dead_letters_of_their_share_group(lab: Lab) -> None:
    before = lab.truth
    lab.reject_share_records(3)
    lab.reject_share_records(2)
    assert lab.truth - before == Truth(share_dead_letters=5)
    headers = headers_of(lab, "dlq.orders-g1", lab.truth.share_dead_letters)
    assert len(headers) == lab.truth.share_dead_letters
    assert {header["__dlq.errors.message"] for header in headers} == {b"Offset rejected by client."}


def test_broken_records_are_dead_letters_of_their_connector(lab: Lab) -> None:
    before = lab.truth
    lab.break_connect_records(3)
    lab.break_connect_records(2)
    assert lab.truth - before == Truth(connect_dead_letters=5)
    headers = headers_of(lab, "dlq.filesink", lab.truth.connect_dead_letters)
    assert len(headers) == lab.truth.connect_dead_letters
    assert {header["__connect.errors.stage"] for header in headers} == {b"VALUE_CONVERTER"}


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_the_encrypted_listener_knows_its_user_and_no_other_password(lab: Lab, mechanism: str) -> None:
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": lab.sasl_ssl.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(lab.sasl_ssl.ca_file),
        "sasl.mechanism": mechanism,
        "sasl.username": lab.sasl_ssl.username,
        "sasl.password": lab.sasl_ssl.password,
        "log_level": 0,
    }
    assert "orders" in AdminClient(config).list_topics(timeout=WITHIN_S).topics
    with pytest.raises(KafkaException):
        AdminClient(config | {"sasl.password": "wrong"}).list_topics(timeout=3)


def test_the_description_names_every_address(lab: Lab) -> None:
    description = lab.describe()
    for address in (lab.bootstrap_servers, lab.connect_url, lab.connect_jolokia_url, lab.broker_jolokia_url):
        assert address in description
    assert lab.sasl_ssl.password not in description


OWNERS = {
    "killed while it starts": ("with Lab(sasl=False): pass", psutil.STATUS_SLEEPING, signal.SIGKILL),
    "interrupted while it starts": ("with Lab(sasl=False): pass", psutil.STATUS_SLEEPING, signal.SIGINT),
    "killed while the broker is stopped": (
        "with Lab(sasl=False) as lab: lab.stall_broker(600)",
        psutil.STATUS_STOPPED,
        signal.SIGKILL,
    ),
}


@pytest.mark.parametrize("name", OWNERS)
def test_nothing_outlives_an_owner_that_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, status, number = OWNERS[name]
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = [sys.executable, "-c", f"from lab import Lab\n{script}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as owner:
        try:
            assert eventually(lambda: ("java", status) in programs_of(tmp_path))
        finally:
            owner.send_signal(number)
    assert eventually(lambda: not programs_of(tmp_path) and not list(tmp_path.iterdir()))


BROKEN_JAVA = """#!/bin/sh
case "$*" in *kafka.Kafka*) echo no broker today; exit 3;; esac
exec {java} "$@"
"""


def test_a_start_that_fails_names_the_process_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(BROKEN_JAVA.format(java=jars.find_java().path))
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    expected = r"^broker: the process ended with status 3\n.*broker\.out.*\n  \| no broker today$"
    with pytest.raises(LabError, match=expected), Lab(sasl=False):
        pass
    assert not programs_of(tmp_path)
    assert [left.name for left in tmp_path.iterdir()] == ["jdk"]


def programs_of(directory: Path) -> list[tuple[str, str]]:
    """Name and status of every process that was started for a lab in ``directory``."""
    found = [process.info for process in psutil.process_iter(["name", "status", "cmdline"])]
    return [
        (info["name"], info["status"]) for info in found if str(directory) in " ".join(info["cmdline"] or [])
    ]
