"""The command line as a process: what is refused is one line on standard error and exit code 2."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.settings_file import SettingsError
from deadwatch.up import locked
from tests.command_line import deadwatch

WITHIN_S = 60


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


BAD_INPUT = [
    ("an unknown option", ["up", "--bogus"], "No such option: --bogus"),
    ("an unknown command", ["upp"], "No such command 'upp'"),
    ("a port that is none", ["up", "--port", "http"], "Invalid value for '--port'"),
    ("no Kafka", ["up"], "which Kafka? give --bootstrap-servers HOST:PORT"),
    ("a file that is not there", ["up", "--config", "gone.yaml"], "cannot read gone.yaml"),
    ("a file that is not YAML", ["doctor", "--config", "bad.yaml"], "bad.yaml is not YAML"),
    ("SASL without a name", ["up", "--config", "sasl.yaml"], "SASL_SSL needs sasl_mechanism"),
    (
        "an agent without a cluster",
        ["up", "--bootstrap-servers", "x:1", "--jolokia-url", "http://x"],
        "--jolokia-url goes with --connect-url",
    ),
    ("a redrive of nothing", ["redrive", "dlq.t", "--reason", "x"], "which records? say --all"),
    ("a backfill from a time without zone", ["backfill", "--from", "2026-11-21"], "no time with its zone"),
    ("a backfill of no Kafka", ["backfill", "--from", "beginning"], "which Kafka? give --bootstrap-servers"),
    (
        "a place that cannot be written",
        ["up", "--bootstrap-servers", "x:1", "--port", "0", "--data", "bad.yaml/data"],
        "cannot write to bad.yaml/data",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "complaint"), [row[1:] for row in BAD_INPUT], ids=[row[0] for row in BAD_INPUT]
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kafka: [")
    (tmp_path / "sasl.yaml").write_text("kafka: {bootstrap_servers: 'x:1', security_protocol: SASL_SSL}")

    done = deadwatch(*arguments, within_s=WITHIN_S, directory=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("deadwatch: ")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_taken_port_is_refused_before_anything_starts(taken_port: int, tmp_path: Path) -> None:
    done = deadwatch(
        "up",
        "--bootstrap-servers",
        "127.0.0.1:1",
        "--port",
        str(taken_port),
        within_s=WITHIN_S,
        directory=tmp_path,
    )

    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{taken_port}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_two_services_never_share_a_data_directory(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(SettingsError, match="another deadwatch runs on"), locked(tmp_path):
        pass


def test_a_data_directory_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path):
            assert (tmp_path / "lock").exists()


def test_help_names_every_command(tmp_path: Path) -> None:
    done = deadwatch("--help", within_s=WITHIN_S, directory=tmp_path)

    assert done.returncode == 0
    assert all(
        command in done.stdout
        for command in ("up", "demo", "lab", "doctor", "redrive", "jobs", "cancel", "backfill")
    )
