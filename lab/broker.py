"""One broker 4.4.0, also its own controller, freshly formatted: share groups may have dead letter queues."""

import secrets
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final

from lab import sasl
from lab.errors import LabError
from lab.http import answers
from lab.jvm import Jvm, Properties, launcher, write_properties
from lab.ports import Ports
from lab.processes import Process, Processes, read

_STARTED: Final = "Kafka Server started"
_UP_WITHIN_S: Final = 60
_INTERNAL_TOPICS: Final = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")


class Broker:
    """Start with ``launch``; use it after ``wait``."""

    def __init__(self, java: Path, directory: Path, log: Path, ports: Ports, *, with_sasl: bool) -> None:
        self.bootstrap_servers = f"127.0.0.1:{ports.broker}"
        self.jolokia_url = f"http://127.0.0.1:{ports.broker_jolokia}/jolokia/"
        self.sasl_ssl = self._sasl_ssl(directory, ports) if with_sasl else None
        self._java, self._directory, self._ports = java, directory, ports
        self._jvm = Jvm(java, "kafka", 384, log, jolokia_port=ports.broker_jolokia)
        self.settings: Properties = {}
        self._running: Process | None = None
        self._starts = 0

    @property
    def process(self) -> Process:
        """The running process."""
        if self._running is None:
            raise LabError("the broker has not been started")
        return self._running

    def launch(self, processes: Processes) -> None:
        """Make certificates, format the log directory, start the process."""
        self._directory.mkdir()
        config = write_properties(self._directory / "server.properties", self._properties(processes))
        self._format(processes, config)
        self._start(processes)

    def kill(self, processes: Processes) -> None:
        """SIGKILL; what it has on disk stays."""
        processes.end(self.process)
        self._running = None

    def launch_again(self, processes: Processes) -> None:
        """Start what was killed on the same disk and ports; ``wait`` for it."""
        self._start(processes)

    def wait(self) -> None:
        """Return when it takes requests."""
        log = self.process.log
        self._starts += 1
        self.process.until(
            lambda: read(log).count(_STARTED) >= self._starts, "the broker did not start", _UP_WITHIN_S
        )
        self.process.until(lambda: answers(self.jolokia_url), "its Jolokia agent is silent", _UP_WITHIN_S)

    def _start(self, processes: Processes) -> None:
        command = self._jvm.command("kafka.Kafka", self._directory / "server.properties")
        self._running = processes.start("broker", command, self._directory, self._jvm.log)

    def _properties(self, processes: Processes) -> Properties:
        properties = server_properties(self._ports, self._directory, with_sasl=self.sasl_ssl is not None)
        properties = properties | self.settings
        if self.sasl_ssl is None:
            return properties
        keytool = self._java.with_name("keytool")
        store_password = sasl.make_certificates(processes, keytool, self._directory)
        return properties | sasl.listener_properties(self._directory, store_password, self.sasl_ssl.password)

    def _format(self, processes: Processes, config: Path) -> None:
        command = [*launcher(self._java, "kafka", 128), "kafka.tools.StorageTool", "format", "--standalone"]
        command += [f"--cluster-id={_cluster_id()}"]  # it may begin with a dash
        command += ["--config", config]
        if self.sasl_ssl:
            user, password = self.sasl_ssl.username, self.sasl_ssl.password
            command += ["--add-scram", f"SCRAM-SHA-512=[name={user},password={password}]"]
        processes.run("format", command, self._directory)

    @staticmethod
    def _sasl_ssl(directory: Path, ports: Ports) -> sasl.SaslSsl:
        bootstrap_servers = f"127.0.0.1:{ports.broker_sasl_ssl}"
        return sasl.SaslSsl(bootstrap_servers, directory / "ca.pem", secrets.token_hex(16))


def server_properties(ports: Ports, directory: Path, *, with_sasl: bool) -> Properties:
    """The broker's settings without the secrets of the encrypted listener."""
    listeners = [f"PLAINTEXT://127.0.0.1:{ports.broker}"]
    if with_sasl:
        listeners.append(f"SASL_SSL://127.0.0.1:{ports.broker_sasl_ssl}")
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports.controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": ",".join([*listeners, f"CONTROLLER://127.0.0.1:{ports.controller}"]),
        "advertised.listeners": ",".join(listeners),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
        "log.dirs": directory / "data",
        "group.initial.rebalance.delay.ms": 0,
        "errors.deadletterqueue.auto.create.topics.enable": "true",
        **{f"{topic}.replication.factor": 1 for topic in _INTERNAL_TOPICS},
        **{f"{topic}.num.partitions": 1 for topic in _INTERNAL_TOPICS},
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.min.isr": 1,
    }


def _cluster_id() -> str:
    """A random id as Kafka writes its own: 22 characters of URL-safe base64."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
