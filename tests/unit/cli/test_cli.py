"""The command line: what is refused is one line on standard error and exit code 2."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands.up import TEMPORARY, locked, temporary_files
from cli.main import app
from cli.service import PREFIXES
from deadwatch.runtime.process import SettingsError


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two files in it and no settings around it."""
    monkeypatch.chdir(tmp_path)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}
    monkeypatch.setattr(os, "environ", variables)
    monkeypatch.setattr(os, "umask", lambda _: 0o022)  # it is this process's
    (tmp_path / "bad.yaml").write_text("kafka: [")
    (tmp_path / "sasl.yaml").write_text("kafka: {bootstrap_servers: 'x:1', security_protocol: SASL_SSL}")
    return tmp_path


BAD_INPUT = {
    "up --bogus": "No such option: --bogus",
    "upp": "No such command 'upp'",
    "policies": "Missing command; see deadwatch policies --help",
    "policies enable": "Missing argument 'ID'; see deadwatch policies enable --help",
    "store": "Choose from: status, upgrade, check, backup, restore; see deadwatch store --help",
    "up --port http": "Invalid value for '--port'",
    "up": "which Kafka? give --bootstrap-servers HOST:PORT",
    "up --config gone.yaml": "cannot read gone.yaml",
    "doctor --config bad.yaml": "bad.yaml is not YAML",
    "up --config sasl.yaml": "SASL_SSL needs sasl_mechanism",
    "up --bootstrap-servers x:1 --jolokia-url http://x": "--jolokia-url goes with --connect-url",
    "ready --url http://x:port": "--url 'http://x:port' is no address",
    "ready --url localhost:8000": "--url 'localhost:8000' is no address: say http://localhost:8000",
    "jobs --url 127.0.0.1:8000": "--url '127.0.0.1:8000' is no address: say http://127.0.0.1:8000",
    "jobs --url ftp://x": "--url 'ftp://x' is no address: say http://HOST:PORT",
    "jobs --url http://[::1": "--url 'http://[::1' is no address",
    "demo --once --svg gone/x.svg": "cannot write gone/x.svg",
    "redrive dlq.t --reason x": "which records? say --all",
    "redrive dlq.t --all --reason x --set limits.records_per_second=NaN": "cannot be sent: Out of range",
    "redrive dlq.t --all --reason \udcff": r"cannot be sent: 'utf-8' codec can't encode character '\udcff'",
    "records \udcff": "cannot be sent: 'utf-8' codec",
    "jobs \x01": "cannot be sent: Invalid non-printable ASCII character",
    "policies create gone.yaml": "cannot read gone.yaml: No such file or directory",
    "backfill --from 2026-11-21": "no time with its zone",
    "backfill --from beginning": "which Kafka? give --bootstrap-servers",
    "up --bootstrap-servers 127.0.0.1:1 --port {taken} --data new": "cannot listen on 127.0.0.1:{taken}",
    "up --bootstrap-servers 127.0.0.1:1 --port 0 --data bad.yaml/new": "cannot write to bad.yaml/new",
}


@pytest.mark.parametrize(("command", "complaint"), BAD_INPUT.items(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2_before_anything_starts(
    command: str, complaint: str, taken_port: int, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app(command.format(taken=taken_port).split(), standalone_mode=False) == 2
    stdout, stderr = capsys.readouterr()
    assert (stdout, stderr.count("\n")) == ("", 1)
    assert stderr.startswith("deadwatch: ")
    assert complaint.format(taken=taken_port) in stderr
    assert {path.name for path in place.iterdir()} == {"bad.yaml", "sasl.yaml"}


@pytest.mark.parametrize(("command", "code"), [("jobs", 4), ("ready --within 0", 1)])
def test_a_password_in_an_address_is_not_told(
    command: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*command.split(), "--url", "http://ann:s3cret@127.0.0.1:1"]
    assert app(arguments, standalone_mode=False) == code
    said = "".join(capsys.readouterr())
    assert "no answer from http://127.0.0.1:1 (" in said
    assert "s3cret" not in said


def test_two_services_never_share_a_data_directory(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(SettingsError, match="another deadwatch runs on"), locked(tmp_path):
        pass
    with locked(tmp_path):
        assert (tmp_path / "lock").exists()


def test_temporary_files_are_in_the_data_directory_and_what_a_killed_service_left_there_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "elsewhere")
    theirs, place = tmp_path / "tmp" / "of somebody else", tmp_path / TEMPORARY
    theirs.mkdir(parents=True)
    (place / "spark-killed").mkdir(parents=True)
    with temporary_files(tmp_path):
        assert os.environ["TMPDIR"] == str(place)
        assert list(place.iterdir()) == []
        (place / "spark-1").mkdir()
    assert list(tmp_path.iterdir()) == [theirs.parent]
    assert theirs.is_dir()


def test_temporary_files_that_cannot_be_are_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / TEMPORARY).touch()
    said = f"cannot write to {tmp_path / TEMPORARY}: File exists; give another --data DIR"
    with pytest.raises(SettingsError, match=said), temporary_files(tmp_path):
        pass


def test_a_data_directory_that_others_may_look_into_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for mode, said in ((0o700, ""), (0o755, f"chmod 700 {tmp_path}")):
        tmp_path.chmod(mode)
        with locked(tmp_path):
            assert said in caplog.text
            assert bool(said) == bool(caplog.text)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["--help"], standalone_mode=False) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in ("up", "demo", "lab", "doctor", "redrive", "backfill"))
