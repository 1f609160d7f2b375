import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.auth.credentials import parse
from cli.options import Options
from cli.service import PREFIXES, configure, forget_variables, variables
from deadwatch.runtime.process import SettingsError

KAFKA = "kafka.test:9092"


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    before = dict(os.environ)
    forget_variables()
    yield
    os.environ.clear()
    os.environ.update(before)


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "deadwatch.yaml"
    file.write_text(text)
    return file


def test_flags_become_variables_of_the_processes() -> None:
    options = Options(
        bootstrap_servers=KAFKA,
        connect_url=["http://a:8083", "http://b:8083"],
        jolokia_url="http://{host}:8778/jolokia",
        broker_jolokia_url=["http://k1:8778", "http://k2:8778"],
        log=["/var/log/*.log"],
        port=8001,
    )
    made = variables(options)
    for process in ("COLLECTOR", "STREAMING", "REDRIVE", "API"):
        assert made[f"{process}_KAFKA__BOOTSTRAP_SERVERS"] == KAFKA
    assert json.loads(made["COLLECTOR_CONNECT"]) == [
        {"url": url, "jolokia_url": "http://{host}:8778/jolokia"}
        for url in ("http://a:8083", "http://b:8083")
    ]
    brokers = json.loads(made["COLLECTOR_BROKERS"])
    assert brokers == [{"jolokia_url": "http://k1:8778"}, {"jolokia_url": "http://k2:8778"}]
    assert json.loads(made["COLLECTOR_LOGS"]) == [{"path": "/var/log/*.log"}]
    assert made["API_PORT"] == "8001"
    assert variables(Options()) == {}, "what is not given sets nothing"


def test_every_place_follows_the_data_directory(tmp_path: Path) -> None:
    service = configure(Options(bootstrap_servers=KAFKA, data=tmp_path))
    assert service.collector.data == tmp_path / "collector"
    assert service.streaming.checkpoint == tmp_path / "checkpoint"
    for process in (service.streaming, service.redrive, service.api):
        assert process.store_url == f"sqlite:///{tmp_path / 'deadwatch.db'}"


def test_a_place_that_the_file_names_stays(tmp_path: Path) -> None:
    elsewhere = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    file = write(tmp_path, f"store_url: {elsewhere}\nstreaming: {{checkpoint: /elsewhere}}\n")
    service = configure(Options(bootstrap_servers=KAFKA, data=tmp_path, config=file))
    assert service.streaming.store_url == service.redrive.store_url == service.api.store_url == elsewhere
    assert service.streaming.checkpoint == Path("/elsewhere")
    assert service.collector.data == tmp_path / "collector"


def test_a_flag_is_stronger_than_variable_and_file_and_takes_only_its_own_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_PORT", "8002")
    file = write(
        tmp_path,
        "kafka: {bootstrap_servers: 'other:1', security_protocol: SASL_SSL, sasl_mechanism: PLAIN,"
        " sasl_username: me, sasl_password: hidden}\n",
    )
    service = configure(Options(bootstrap_servers=KAFKA, port=8003, config=file))
    assert service.api.port == 8003
    for kafka in (service.collector.kafka, service.streaming.kafka):
        assert (kafka.bootstrap_servers, kafka.security_protocol) == (KAFKA, "SASL_SSL")
    assert "hidden" not in str(os.environ)


def test_port_0_is_a_free_one() -> None:
    service = configure(Options(bootstrap_servers=KAFKA, port=0))
    assert service.api.port > 0
    assert service.url == f"http://127.0.0.1:{service.api.port}"


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "http://127.0.0.1:8003"), ("::1", "http://[::1]:8003")]
)
def test_the_address_of_the_api_is_one_that_a_browser_takes(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_HOST", host)
    assert configure(Options(bootstrap_servers=KAFKA, port=8003)).url == url


def test_a_free_port_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_HOST", "192.0.2.1")
    monkeypatch.setenv("API_TOKEN_PEPPER", "p" * 32)
    with pytest.raises(
        SettingsError, match=r"cannot listen on 192\.0\.2\.1: Cannot assign requested address"
    ):
        configure(Options(bootstrap_servers=KAFKA, port=0))


def test_a_configuration_file_reaches_every_process(tmp_path: Path) -> None:
    file = write(tmp_path, f"kafka: {{bootstrap_servers: {KAFKA}}}\n")
    programs = configure(Options(config=file)).programs(tmp_path)
    assert [program.name for program in programs] == ["collector", "streaming", "redrive", "api"]
    assert {program.arguments for program in programs} == {("--config", str(file))}
    assert [program.output for program in programs] == [
        tmp_path / f"{name}.log" for name in ("collector", "streaming", "redrive", "api")
    ]


SASL_FOR_ONE = {
    "COLLECTOR_KAFKA__SECURITY_PROTOCOL": "SASL_PLAINTEXT",
    "COLLECTOR_KAFKA__SASL_MECHANISM": "PLAIN",
    "COLLECTOR_KAFKA__SASL_USERNAME": "me",
    "COLLECTOR_KAFKA__SASL_PASSWORD": "hidden",
}
FOUR, SERVERS = "collector and streaming and redrive and api disagree on", "kafka: {bootstrap_servers: x}"
REFUSED: list[tuple[str, dict[str, str], str]] = [
    ("kafka: {bootstrap_server: x}", {}, "bootstrap_server"),
    (SERVERS, SASL_FOR_ONE, f"{FOUR} kafka.security_protocol"),
    (SERVERS, {"COLLECTOR_EVENTS_TOPIC": "mine"}, f"{FOUR} events_topic"),
    (
        SERVERS,
        {"STREAMING_STORE_URL": "sqlite:///hidden.db"},
        "streaming and redrive and api disagree on store_url",
    ),
    (SERVERS, {"REDRIVE_TARGETS_ALLOW": '["orders"]'}, "redrive and api disagree on targets_allow"),
    (SERVERS, {"REDRIVE_STORE_URL": "mysql://hidden"}, "must be sqlite:///FILE or postgresql"),
    (
        f"{SERVERS}\nstreaming: {{dlq_topics: [e]}}",
        {},
        "disagree on dlq_topics: say it once, at the top level",
    ),
]


@pytest.mark.parametrize(("text", "environment", "complaint"), REFUSED, ids=[row[2] for row in REFUSED])
def test_contradictions_are_refused_in_one_line_without_secrets(
    text: str, environment: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    os.environ.update(environment)
    with pytest.raises(SettingsError, match=complaint) as refused:
        configure(Options(config=write(tmp_path, text)))
    assert "\n" not in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_no_variable_of_the_service_survives_forgetting() -> None:
    os.environ.update({f"{prefix}SOMETHING": "x" for prefix in PREFIXES})
    forget_variables()
    assert not [name for name in os.environ if name.startswith(PREFIXES)]


def test_the_local_user_is_admitted_below_the_data_directory(tmp_path: Path) -> None:
    service = configure(Options(bootstrap_servers="127.0.0.1:1", data=tmp_path))
    assert not service.local_token
    service.admit_local_user()
    assert service.api.local_token_file == tmp_path / "token"
    assert parse(service.local_token) is not None
    assert os.environ["API_LOCAL_TOKEN_FILE"] == str(tmp_path / "token"), "the api's process inherits it"
