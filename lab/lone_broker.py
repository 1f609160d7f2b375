"""A broker by itself that may be killed and started again: what fault tests do to Kafka."""

import tempfile
from pathlib import Path
from typing import Self

import jars
from lab.broker import Broker
from lab.errors import LabError
from lab.jvm import Properties
from lab.ports import Ports
from lab.processes import Processes
from lab.sasl import SaslSsl


class LoneBroker:
    """A context; nothing is left of it. ``bootstrap_servers`` stays the same over every restart.

    ``settings`` are the broker's own, beside those that every broker of the lab has; ``sasl`` adds the
    encrypted listener.
    """

    def __init__(self, settings: Properties | None = None, *, sasl: bool = False) -> None:
        self._settings = settings or {}
        self._sasl = sasl
        self._broker: Broker | None = None
        self._processes: Processes | None = None

    def __enter__(self) -> Self:
        """Start it."""
        directory = Path(tempfile.mkdtemp(prefix="deadwatch-broker-"))
        processes = Processes(remove=directory)
        ports = Ports.choose()
        broker = Broker(
            jars.find_java().path, directory / "broker", directory / "broker.log", ports, with_sasl=self._sasl
        )
        broker.settings = self._settings
        try:
            broker.launch(processes)
            broker.wait()
        except BaseException:
            processes.close()
            raise
        self._broker, self._processes = broker, processes
        return self

    def __exit__(self, *exception: object) -> None:
        """End it and remove its files."""
        _, processes = self._running()
        self._broker = self._processes = None
        processes.close()

    @property
    def bootstrap_servers(self) -> str:
        """Where it listens, without encryption."""
        broker, _ = self._running()
        return broker.bootstrap_servers

    @property
    def sasl_ssl(self) -> SaslSsl:
        """How a client reaches the encrypted listener."""
        broker, _ = self._running()
        if broker.sasl_ssl is None:
            raise LabError("the broker has no encrypted listener: make it with sasl=True")
        return broker.sasl_ssl

    def kill(self) -> None:
        """End it as a crash does; what it has on disk stays."""
        broker, processes = self._running()
        broker.kill(processes)

    def start_again(self) -> None:
        """Start it after ``kill``; returns when it takes requests."""
        broker, processes = self._running()
        broker.launch_again(processes)
        broker.wait()

    def _running(self) -> tuple[Broker, Processes]:
        if self._broker is None or self._processes is None:
            raise LabError("the broker runs inside `with LoneBroker()` only")
        return self._broker, self._processes
