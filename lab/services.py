"""What runs in a lab, started as far in parallel as their needs allow."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import jars
from lab import share
from lab.broker import Broker
from lab.connect import FILESINK_TOPIC, Connect
from lab.errors import PortTakenError
from lab.ports import Ports
from lab.processes import Processes
from lab.streams import INPUT, OUTPUT, Streams
from lab.topics import Topics

_STARTS: Final = 3


@dataclass(frozen=True, slots=True)
class Logs:
    """The log file of each process."""

    broker: Path
    connect: Path
    streams: Path


@dataclass(frozen=True, slots=True)
class Services:
    """The broker, what runs against it, and where they log."""

    processes: Processes
    logs: Logs
    broker: Broker
    connect: Connect
    streams: Streams
    topics: Topics

    @classmethod
    def prepare(cls, directory: Path, processes: Processes, *, with_sasl: bool) -> Self:
        """Choose ports and write nothing but directories; nothing runs yet."""
        java, ports = jars.find_java().path, Ports.choose()
        logs_directory = directory / "logs"
        logs_directory.mkdir()
        logs = Logs(*(logs_directory / f"{name}.log" for name in ("broker", "connect", "streams")))
        broker = Broker(java, directory / "broker", logs.broker, ports, with_sasl=with_sasl)
        return cls(
            processes=processes,
            logs=logs,
            broker=broker,
            connect=Connect(java, directory / "connect", logs.connect, ports),
            streams=Streams(java, directory / "streams", logs.streams, broker.bootstrap_servers),
            topics=Topics(broker.bootstrap_servers),
        )

    def launch(self) -> None:
        """Start everything and return when everything can be used."""
        self.connect.launch(self.processes)  # takes longest and waits for the broker by itself
        self.broker.launch(self.processes)
        self.broker.wait()
        self.topics.create(INPUT, OUTPUT, share.TOPIC, FILESINK_TOPIC)
        self.streams.launch(self.processes)
        share.configure(self.broker.bootstrap_servers)
        self.connect.wait()
        self.streams.wait()

    def describe(self) -> str:
        """Where everything is, a line each."""
        sasl_ssl = self.broker.sasl_ssl
        rows = {
            "Kafka": self.broker.bootstrap_servers,
            "Kafka, SASL_SSL": sasl_ssl.bootstrap_servers if sasl_ssl else "off",
            "Connect": self.connect.url,
            "Jolokia, broker": self.broker.jolokia_url,
            "Jolokia, Connect": self.connect.jolokia_url,
            "log of the broker": self.logs.broker,
            "log of Connect": self.logs.connect,
            "log of Streams": self.logs.streams,
        }
        return "\n".join(f"{name:<19}{value}" for name, value in rows.items())


def start(directory: Path | None, *, with_sasl: bool) -> Services:
    """Everything, ready for use; where it fails, nothing is left. A port that was snatched is chosen anew."""
    for _ in range(1, _STARTS):
        try:
            return _start(directory, with_sasl=with_sasl)
        except PortTakenError:
            continue
    return _start(directory, with_sasl=with_sasl)


def _start(kept_in: Path | None, *, with_sasl: bool) -> Services:
    if kept_in:
        kept_in.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="deadwatch-lab-", dir=kept_in))
    processes = Processes(remove=None if kept_in else directory)
    try:
        services = Services.prepare(directory, processes, with_sasl=with_sasl)
        services.launch()
    except BaseException:
        processes.close()
        raise
    return services
