"""One broker 4.4.0, also its own controller, freshly formatted: share groups may have dead letter queues.

``Broker`` is a part of the lab; ``LoneBroker`` runs by itself and may be killed and started again, as fault
tests do to Kafka. Its encrypted listener has certificates of its own (``lab.certificates``) and one user.
"""

import secrets
import signal
import tempfile
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Self

import jars
from lab import certificates
from lab.jvm import Jvm, Properties, answers, launcher, write_properties
from lab.ports import free_ports
from lab.processes import Process, Processes, read
from lab.proxy import Proxy

_STARTED: Final = "Kafka Server started"
_UP_WITHIN_S: Final = 60
USERNAME: Final = "deadwatch"
_INTERNAL_TOPICS: Final = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")


@dataclass(frozen=True, slots=True)
class Ports:
    """A loopback port for everything that listens."""

    broker: int
    broker_sasl_ssl: int
    controller: int
    broker_jolokia: int
    connect: int
    connect_jolokia: int
    proxied: int
    proxy: int

    @classmethod
    def choose(cls) -> Self:
        """Ports that are free now and differ; where another process takes one first, the lab starts again."""
        return cls(*free_ports(len(fields(cls))))


@dataclass(frozen=True, slots=True)
class SaslSsl:
    """How a client reaches the SASL_SSL listener; the broker also takes mechanism PLAIN."""

    bootstrap_servers: str
    ca_file: Path
    password: str = field(repr=False)
    username: str = USERNAME
    mechanism: str = "SCRAM-SHA-512"


class Broker:
    """The broker of a lab; start it with ``launch`` and use it after ``wait``.

    ``settings`` are its own, beside those that every broker of the lab has.
    """

    def __init__(
        self, java: Path, directory: Path, log: Path, ports: Ports, settings: Properties | None = None
    ) -> None:
        self.bootstrap_servers = f"127.0.0.1:{ports.broker}"
        self.jolokia_url = f"http://127.0.0.1:{ports.broker_jolokia}/jolokia/"
        address = f"127.0.0.1:{ports.broker_sasl_ssl}"
        self.sasl_ssl = SaslSsl(address, directory / "ca.pem", secrets.token_hex(16))
        """How a client reaches the encrypted listener."""
        self.process: Process
        self._settings = settings or {}
        self._java, self._directory, self._ports = java, directory, ports
        self._jvm = Jvm(java, "kafka", 384, log, jolokia_port=ports.broker_jolokia)
        self._starts = 0

    def launch(self, processes: Processes) -> None:
        """Make certificates, format the log directory, start the process."""
        self._directory.mkdir()
        config = write_properties(self._directory / "server.properties", self._properties())
        self._format(processes, config)
        self.start(processes)

    def start(self, processes: Processes) -> None:
        """Start the process with the files and ports it had before; then ``wait`` for it."""
        command = self._jvm.command("kafka.Kafka", self._directory / "server.properties")
        self.process = processes.start("broker", command, self._directory, self._jvm.log)

    def wait(self) -> None:
        """Return when the broker takes requests."""
        self._starts += 1
        log, starts = self._jvm.log, self._starts
        self.process.until(
            lambda: read(log).count(_STARTED) >= starts, "the broker did not start", _UP_WITHIN_S
        )
        self.process.until(lambda: answers(self.jolokia_url), "its Jolokia agent is silent", _UP_WITHIN_S)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """A context in which it answers nobody, as a machine that hangs; its connections stay open."""
        self.process.popen.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.popen.send_signal(signal.SIGCONT)

    def _properties(self) -> Properties:
        properties = server_properties(self._ports, self._directory) | self._settings
        store = self._directory / "server.p12"
        password = certificates.make(self.sasl_ssl.ca_file, store)
        return properties | listener_properties(store, password, self.sasl_ssl.password)

    def _format(self, processes: Processes, config: Path) -> None:
        command = [*launcher(self._java, "kafka", 128), "kafka.tools.StorageTool", "format", "--standalone"]
        cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")  # it may begin with a dash
        scram = f"SCRAM-SHA-512=[name={self.sasl_ssl.username},password={self.sasl_ssl.password}]"
        command += [f"--cluster-id={cluster_id}", "--config", config, "--add-scram", scram]
        processes.run("format", command, self._directory)


def server_properties(ports: Ports, directory: Path) -> Properties:
    """The broker's settings without the secrets of the encrypted listener.

    Clients of the listener PROXIED are told the address of a proxy.
    """
    both = f"PLAINTEXT://127.0.0.1:{ports.broker},SASL_SSL://127.0.0.1:{ports.broker_sasl_ssl}"
    inner = f"CONTROLLER://127.0.0.1:{ports.controller},PROXIED://127.0.0.1:{ports.proxied}"
    protocols = "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT"
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports.controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": f"{both},{inner}",
        "advertised.listeners": f"{both},PROXIED://127.0.0.1:{ports.proxy}",
        "listener.security.protocol.map": protocols,
        "log.dirs": directory / "data",
        "group.initial.rebalance.delay.ms": 0,
        "metadata.max.idle.interval.ms": 0,  # a third of what a broker does that nobody asks
        "errors.deadletterqueue.auto.create.topics.enable": "true",
        **{f"{topic}.replication.factor": 1 for topic in _INTERNAL_TOPICS},
        **{f"{topic}.num.partitions": 1 for topic in _INTERNAL_TOPICS},
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.min.isr": 1,
    }


def listener_properties(store: Path, store_password: str, user_password: str) -> Properties:
    """The broker's settings for SCRAM-SHA-512 and PLAIN over TLS."""
    login = "org.apache.kafka.common.security"
    return {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{login}.scram.ScramLoginModule required;",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{login}.plain.PlainLoginModule required user_{USERNAME}="{user_password}";'
        ),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": store,
        "ssl.keystore.password": store_password,
    }


class LoneBroker(Broker):
    """A broker as a context, which leaves nothing behind. ``bootstrap_servers`` stays over every restart."""

    def __init__(self, settings: Properties | None = None) -> None:
        self._place = Path(tempfile.gettempdir()) / f"deadwatch-broker-{uuid.uuid4().hex}"
        java, log, ports = jars.find_java().path, self._place / "broker.log", Ports.choose()
        super().__init__(java, self._place / "broker", log, ports, settings)

    def __enter__(self) -> Self:
        """Start the broker; when that fails, nothing is left."""
        self._place.mkdir(mode=0o700)
        self._processes = Processes(remove=self._place)
        try:
            self.launch(self._processes)
            self.wait()
        except BaseException:
            self._processes.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """End the broker and remove its files."""
        self._processes.close()

    @property
    def proxy(self) -> Proxy:
        """A proxy between clients and the proxied listener, not started yet."""
        return Proxy(self._ports.proxy, self._ports.proxied)

    def kill(self) -> None:
        """End the broker as a crash does; its files stay."""
        self._processes.end(self.process)

    def start_again(self) -> None:
        """Start the broker after ``kill``; returns when it takes requests."""
        self.start(self._processes)
        self.wait()
