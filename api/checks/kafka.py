"""What the service needs of Kafka. Network, TLS and login problems are distinguished from others."""

import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError as ConfluentError
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import AuthorizationError, KafkaError

from api.checks import Finding, fail, ok, short, warn
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.runtime.kafka_topics import Admin

WITHIN_S = 5
REASON_CHARS = 200
Look = Callable[[KafkaAdminClient], Iterable[Finding]]
"""A check with a client that is logged in."""


def kafka(connection: KafkaConnection, looks: Sequence[Look]) -> Iterator[Finding]:
    """Whether a broker answers and accepts our login; then what ``looks`` find with the client."""
    problem = _unreachable(connection)
    if problem is not None:
        yield problem
        return
    try:
        admin = Admin(**connection.kafka_python(), bootstrap_timeout_ms=WITHIN_S * 1_000)
    except KafkaError as error:
        reason = _reason(connection) or short(error)
        seen = f"{connection.bootstrap_servers} answers, but refuses us: {reason}"
        yield fail("Kafka", seen, _login_advice(connection))
        return
    try:
        yield from _cluster(admin)
        for look in looks:
            yield from look(admin)
    except KafkaError as error:
        yield fail("Kafka", short(error), "look into the broker's log")
    finally:
        admin.close()


def _unreachable(connection: KafkaConnection) -> Finding | None:
    """Why no bootstrap server accepts a connection; None as soon as one does."""
    problem = None
    for address in connection.bootstrap_servers.split(","):
        problem = _dial(connection, address.strip())
        if problem is None:
            break
    return problem


def _dial(connection: KafkaConnection, address: str) -> Finding | None:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=WITHIN_S) as plain:
            if connection.uses_ssl:
                _shake_hands(connection, plain, host)
    except ssl.SSLError as error:
        advice = "check ssl_ca_location and security_protocol"
        return fail("Kafka", f"no TLS with {address}: {short(error)}", advice)
    except (OSError, ValueError) as error:
        advice = "check --bootstrap-servers, the broker and the network"
        return fail("Kafka", f"{address} cannot be reached: {short(error)}", advice)
    return None


def _shake_hands(connection: KafkaConnection, plain: socket.socket, host: str) -> None:
    context = ssl.create_default_context(cafile=connection.ssl_ca_location)
    if connection.ssl_certificate_location and connection.ssl_key_location:
        password = connection.ssl_key_password
        context.load_cert_chain(
            connection.ssl_certificate_location,
            connection.ssl_key_location,
            password.get_secret_value() if password else None,
        )
    with context.wrap_socket(plain, server_hostname=host):
        pass


def _reason(connection: KafkaConnection) -> str:
    """Why a broker refuses us, in librdkafka's words: kafka-python does not report them."""
    errors: list[ConfluentError] = []
    config: dict[str, Any] = {**connection.librdkafka(), "error_cb": errors.append, "log_level": 0}
    client = AdminClient(config)
    with suppress(KafkaException):
        client.list_topics(timeout=WITHIN_S)
    client.poll(0)
    reasons = [error for error in errors if error.code() != ConfluentError._ALL_BROKERS_DOWN]  # noqa: SLF001 -- its public name
    return " ".join(reasons[-1].str().split())[:REASON_CHARS] if reasons else ""


def _login_advice(connection: KafkaConnection) -> str:
    if connection.uses_sasl:
        return "check sasl_mechanism, sasl_username and sasl_password"
    return f"the listener may not speak {connection.security_protocol}: check security_protocol"


def _cluster(admin: KafkaAdminClient) -> Iterator[Finding]:
    cluster = admin.describe_cluster()
    brokers = len(cluster["brokers"])
    yield ok("Kafka", f"cluster {cluster['cluster_id']}, {brokers} {'broker' if brokers == 1 else 'brokers'}")
    features = admin.describe_features().get("share.version", {})
    level = features.get("finalized", (0, 0))[1]
    possible = ", dead letter queues are possible" if level > 1 else ""
    yield ok("share groups", f"share.version {level}{possible}")


def events_topic(topic: str, partitions: int, admin: KafkaAdminClient) -> Iterator[Finding]:
    """We may read and write the topic of events, or create it with so many partitions."""
    found: Mapping[str, Any] = admin.describe_topics([topic])[0]
    if found["error_code"] == 0:
        missing = {"READ", "WRITE"} - set(found["authorized_operations"] or ())
        if missing:
            seen = f"no {' and '.join(sorted(missing))} on {topic}"
            yield fail("permissions", seen, "add the ACL for this user")
        else:
            yield ok("permissions", f"{topic} may be read and written")
        return
    try:
        admin.create_topics([NewTopic(topic, partitions, -1)], validate_only=True)
    except AuthorizationError as error:
        seen = f"{topic} is missing and may not be created: {short(error)}"
        yield fail("permissions", seen, "create it, or add the ACL")
    else:
        yield ok("permissions", f"{topic} may be created")


def log_topics(names: Sequence[str], admin: KafkaAdminClient) -> Iterator[Finding]:
    """We may read the topics of log lines that are there."""
    for topic in admin.describe_topics([*names]) if names else ():
        name = topic["name"]
        if topic["error_code"] != 0:
            advice = "nothing to do if it is created later; else correct log_topics, or add the ACL"
            yield warn("log", f"topic {name} is missing, or may not be seen", advice)
        elif "READ" not in (topic["authorized_operations"] or ()):
            yield fail("log", f"no READ on topic {name}", "add the ACL for this user")
        else:
            yield ok("log", f"topic {name} may be read")
