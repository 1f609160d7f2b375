"""The lab itself: nothing stays behind. That each act yields its truth, the tests of what sees it show."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

import jars
from lab import Lab, LabError
from tests.waiting import eventually

WITHIN_S = 60.0


def test_releasing_what_is_not_abandoned_is_refused(lab: Lab) -> None:
    with pytest.raises(LabError, match="no task of 'pipe-z' is abandoned"):
        lab.release_task("pipe-z")


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
    "interrupted while it starts": ("with Lab(): pass", psutil.STATUS_SLEEPING, signal.SIGINT),
    "killed while the broker is stopped": (
        "with Lab() as lab: lab.stall_broker(600)",
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
    with pytest.raises(LabError, match=expected), Lab():
        pass
    assert not programs_of(tmp_path)
    assert [left.name for left in tmp_path.iterdir()] == ["jdk"]


def programs_of(directory: Path) -> list[tuple[str, str]]:
    """Name and status of every process that was started for a lab in ``directory``."""
    found = [process.info for process in psutil.process_iter(["name", "status", "cmdline"])]
    return [
        (info["name"], info["status"]) for info in found if str(directory) in " ".join(info["cmdline"] or [])
    ]
