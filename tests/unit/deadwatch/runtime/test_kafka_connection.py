"""One connection setting, three clients."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from deadwatch.runtime.kafka import KafkaConnection
from tests.tables import named

PASSWORD = 'p"w\\d'


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    file = tmp_path / "ca.pem"
    file.write_text("-----BEGIN CERTIFICATE-----")
    return file


@pytest.fixture
def sasl_ssl(ca: Path) -> KafkaConnection:
    return KafkaConnection(
        bootstrap_servers="a:1,b:2",
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="deadwatch",
        sasl_password=SecretStr(PASSWORD),
        ssl_ca_location=ca,
    )


def test_every_client_gets_its_own_names(sasl_ssl: KafkaConnection, ca: Path) -> None:
    assert sasl_ssl.kafka_python() == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "deadwatch",
        "sasl_plain_password": PASSWORD,
        "ssl_cafile": str(ca),
    }
    shared = {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
    }
    assert sasl_ssl.librdkafka() == {
        **shared,
        "sasl.username": "deadwatch",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(ca),
    }
    login = 'ScramLoginModule required username="deadwatch" password="p\\"w\\\\d";'
    assert sasl_ssl.spark() == {
        **{f"kafka.{name}": value for name, value in shared.items()},
        "kafka.sasl.jaas.config": f"org.apache.kafka.common.security.scram.{login}",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(ca),
    }


def test_mutual_tls_hands_chain_and_key_to_spark(ca: Path) -> None:
    connection = KafkaConnection(
        security_protocol="SSL", ssl_ca_location=ca, ssl_certificate_location=ca, ssl_key_location=ca
    )
    spark = connection.spark()
    assert spark["kafka.ssl.keystore.type"] == "PEM"
    assert spark["kafka.ssl.keystore.certificate.chain"] == spark["kafka.ssl.keystore.key"] == ca.read_text()
    named = connection.kafka_python()
    assert (named["ssl_certfile"], named["ssl_keyfile"]) == (str(ca), str(ca))
    assert connection.librdkafka()["ssl.certificate.location"] == str(ca)


def test_a_password_is_never_shown(sasl_ssl: KafkaConnection) -> None:
    assert PASSWORD not in repr(sasl_ssl)
    assert PASSWORD not in sasl_ssl.model_dump_json()


NO_SERVERS = ("kafka:${PORT}", "kafka:9092;other:9092", "a b:1", ":9092", "kafka:1:2", ",", "kafka:-1")
SERVERS = [
    ("blanks that Java's client passes over", " a:9092,  b:9093 ", ["a:9092", "b:9093"]),
    ("a comma too many", "a:9092,", ["a:9092"]),
    ("what tells no port", "kafka-1.example_2,[::1],::1", ["kafka-1.example_2", "[::1]", "::1"]),
    (
        "every other way",
        "[::1]:9092,10.0.0.1:9092,SSL://kafka:1",
        ["[::1]:9092", "10.0.0.1:9092", "SSL://kafka:1"],
    ),
]


@pytest.mark.parametrize(("text", "servers"), named(SERVERS))
def test_servers_are_the_same_for_every_client(text: str, servers: list[str]) -> None:
    connection = KafkaConnection(bootstrap_servers=text)
    assert connection.kafka_python()["bootstrap_servers"] == servers
    assert connection.librdkafka()["bootstrap.servers"] == ",".join(servers)
    assert connection.spark()["kafka.bootstrap.servers"] == ",".join(servers)


CONTRADICTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("SASL without a mechanism", {"security_protocol": "SASL_SSL"}, "needs sasl_mechanism"),
    ("SASL settings without SASL", {"sasl_username": "x"}, "need a SASL security_protocol"),
    ("TLS settings without TLS", {"ssl_ca_location": "x"}, "need an SSL security_protocol"),
    ("a missing file", {"security_protocol": "SSL", "ssl_ca_location": "nowhere.pem"}, "not a readable file"),
    (
        "a certificate without key",
        {"security_protocol": "SSL", "ssl_certificate_location": "c.pem"},
        "go together",
    ),
    *((f"servers {text!r}", {"bootstrap_servers": text}, "must be HOST:PORT") for text in NO_SERVERS),
    ("an unknown setting", {"ssl_cafile": "x"}, "Extra inputs are not permitted"),
]


@pytest.mark.parametrize(("settings", "match"), named(CONTRADICTIONS))
def test_contradictions_are_refused_at_the_door(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ValidationError, match=match):
        KafkaConnection(**settings)
