"""What the service needs of Kafka. A network, TLS or login problem is told from the others."""

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

from api.checks.finding import Finding, fail, ok, short, warn
from collector.kafka import KafkaConnection

WITHIN_S = 5
REASON_CHARS = 200


Look = Callable[[KafkaAdminClient], Iterable[Finding]]
"""What a client that was let in is used for."""


def kafka(connection: KafkaConnection, looks: Sequence[Look]) -> Iterator[Finding]:
    """A broker answers, lets us in, and shows what is looked for."""
    problem = _unreachable(connection)
    if problem is not None:
        yield problem
        return
    try:
        admin = KafkaAdminClient(**connection.kafka_python(), bootstrap_timeout_ms=WITHIN_S * 1_000)
    except KafkaError as error:
        seen = (
            f"{connection.bootstrap_servers} answers, but refuses us: {_reason(connection) or short(error)}"
        )
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
    """Why no bootstrap server takes a connection; None as soon as one does."""
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
    """Why a broker refuses us, in librdkafka's words: kafka-python keeps them to itself."""
    said: list[ConfluentError] = []
    config: dict[str, Any] = {**connection.librdkafka(), "error_cb": said.append, "log_level": 0}
    client = AdminClient(config)
    with suppress(KafkaException):
        client.list_topics(timeout=WITHIN_S)
    client.poll(0)
    reasons = [error for error in said if error.code() != ConfluentError._ALL_BROKERS_DOWN]  # noqa: SLF001 -- its public name
    return " ".join(reasons[-1].str().split())[:REASON_CHARS] if reasons else ""


def _login_advice(connection: KafkaConnection) -> str:
    if connection.uses_sasl:
        return "check sasl_mechanism, sasl_username and sasl_password"
    return f"the listener may not speak {connection.security_protocol}: check security_protocol"


def _cluster(admin: KafkaAdminClient) -> Iterator[Finding]:
    cluster = admin.describe_cluster()
    yield ok("Kafka", f"cluster {cluster['cluster_id']}, {len(cluster['brokers'])} broker(s)")
    features = admin.describe_features().get("share.version", {})
    level = features.get("finalized", (0, 0))[1]
    yield ok(
        "share groups", f"share.version {level}" + (", dead letter queues are possible" if level > 1 else "")
    )


def events_topic(topic: str, partitions: int, admin: KafkaAdminClient) -> Iterator[Finding]:
    """We may read and write the topic of events, or create it with so many partitions."""
    yield _events_topic(topic, partitions, admin)


def log_topics(names: Sequence[str], admin: KafkaAdminClient) -> Iterator[Finding]:
    """We may read the topics of log lines that are there."""
    for topic in admin.describe_topics([*names]) if names else ():
        name = topic["name"]
        if topic["error_code"] != 0:
            advice = "fine if it is still to come; else correct log_topics, or add the ACL for this user"
            yield warn("log", f"topic {name} is missing, or not for us", advice)
        elif "READ" not in (topic["authorized_operations"] or ()):
            yield fail("log", f"no READ on topic {name}", "add the ACL for this user")
        else:
            yield ok("log", f"topic {name} may be read")


def _events_topic(topic: str, partitions: int, admin: KafkaAdminClient) -> Finding:
    found: Mapping[str, Any] = admin.describe_topics([topic])[0]
    if found["error_code"] == 0:
        missing = {"READ", "WRITE"} - set(found["authorized_operations"] or ())
        if missing:
            return fail(
                "permissions", f"no {' and '.join(sorted(missing))} on {topic}", "add the ACL for this user"
            )
        return ok("permissions", f"{topic} may be read and written")
    try:
        new = NewTopic(topic, partitions, -1)
        admin.create_topics([new], validate_only=True)
    except AuthorizationError as error:
        return fail(
            "permissions",
            f"{topic} is missing and may not be created: {short(error)}",
            "create it, or add the ACL",
        )
    return ok("permissions", f"{topic} may be created")
