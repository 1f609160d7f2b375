from pathlib import Path

from lab.broker import server_properties
from lab.connect import json_sink
from lab.jvm import log4j2, render, write_properties
from lab.ports import Ports
from lab.sasl import SaslSsl, listener_properties

PORTS = Ports(broker=1, broker_sasl_ssl=2, controller=3, broker_jolokia=4, connect=5, connect_jolokia=6)


def test_a_properties_file_keeps_backslashes_and_line_breaks() -> None:
    assert render({"a": "x\\y\nz", "b": 1}) == "a=x\\\\y\\nz\nb=1\n"


def test_a_properties_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = write_properties(tmp_path / "server.properties", {"password": "x"})
    assert file.stat().st_mode & 0o077 == 0


def test_the_encrypted_listener_exists_only_where_it_is_wanted() -> None:
    plain = server_properties(PORTS, Path("lab"), with_sasl=False)
    both = server_properties(PORTS, Path("lab"), with_sasl=True)
    assert plain["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1"
    assert both["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1,SASL_SSL://127.0.0.1:2"
    assert both["listeners"] == f"{both['advertised.listeners']},CONTROLLER://127.0.0.1:3"


def test_every_listener_is_on_loopback() -> None:
    listeners = str(server_properties(PORTS, Path("lab"), with_sasl=True)["listeners"]).split(",")
    assert [listener.split("//")[1].split(":")[0] for listener in listeners] == ["127.0.0.1"] * 3


def test_the_broker_takes_both_mechanisms() -> None:
    properties = listener_properties(Path("lab"), "store", "secret")
    assert properties["sasl.enabled.mechanisms"] == "SCRAM-SHA-512,PLAIN"
    assert 'user_deadwatch="secret"' in str(properties["listener.name.sasl_ssl.plain.sasl.jaas.config"])


def test_a_password_does_not_show_when_the_connection_is_printed() -> None:
    assert "secret" not in repr(SaslSsl("127.0.0.1:2", Path("ca.pem"), "secret"))


def test_the_log_layout_is_the_one_that_was_asked_for() -> None:
    assert log4j2(Path("x.log"), "[%d] %m")["appender.file.layout.pattern"] == "[%d] %m"


def test_the_sink_writes_context_headers_to_its_dead_letter_queue() -> None:
    config = json_sink(Path("out.txt"))
    assert config["errors.deadletterqueue.context.headers.enable"] == "true"
    assert config["errors.deadletterqueue.topic.name"] == "dlq.filesink"


def test_ports_differ_from_each_other() -> None:
    ports = Ports.choose()
    assert len({ports.broker, ports.broker_sasl_ssl, ports.controller, ports.connect}) == 4
