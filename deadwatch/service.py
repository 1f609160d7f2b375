"""The service as one command knows it: flags become its processes' variables, checked before anything starts.

Strongest first: flags, variables of the environment, the file, and last what follows from ``--data`` (store,
checkpoint, positions). Secrets stay where they are: every process reads the file itself.
"""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from api.settings import ApiSettings
from collector.settings import CollectorSettings
from collector.settings_file import ProcessSettings, SettingsError, load
from deadwatch import local_token
from deadwatch.agreement import refuse_contradictions
from deadwatch.supervisor import Program
from streaming.redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings

DATA = Path("deadwatch-data")
PREFIXES = ("COLLECTOR_", "STREAMING_", "REDRIVE_", "API_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was said on the command line; None and empty: nothing."""

    bootstrap_servers: str | None = None
    connect_urls: Sequence[str] = ()
    jolokia_url: str = ""
    broker_jolokia_urls: Sequence[str] = ()
    logs: Sequence[str] = ()
    data: Path = DATA
    port: int | None = None
    config: Path | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """The settings of every process, and where the service keeps its files."""

    collector: CollectorSettings
    streaming: StreamingSettings
    redrive: RedriveSettings
    api: ApiSettings
    data: Path
    config: Path | None

    @property
    def url(self) -> str:
        """Where the api answers."""
        return f"http://{self.api.host}:{self.api.port}"

    @property
    def local_token(self) -> str:
        """What opens the api to who may read the data directory; "": nothing does yet."""
        file = self.api.local_token_file
        return local_token.find(file, self.url) if file else ""

    def admit_local_user(self) -> None:
        """Make a new local token, before the api starts. Raises ``SettingsError``."""
        if self.api.local_token_file:
            local_token.make(self.api.local_token_file)

    def programs(self, logs: Path | None = None) -> tuple[Program, ...]:
        """The processes to run; their lines go to a file each in ``logs``, or to our own stderr."""
        arguments = ("--config", str(self.config)) if self.config else ()
        return tuple(
            Program(settings.runs(), arguments, logs / f"{settings.section}.log" if logs else None)
            for settings in (self.collector, self.streaming, self.redrive, self.api)
        )


def configure(options: Options) -> Service:
    """Put the options into our environment, which the processes inherit, and load their settings from it.

    Raises:
        SettingsError: a setting is refused, or the processes contradict each other.
    """
    os.environ.update(variables(options))
    config = options.config
    processes = _load(config)
    refuse_contradictions(processes)
    os.environ.update(unsaid(options.data, processes))
    api = processes[-1]
    if api.port == 0:
        os.environ["API_PORT"] = str(_free_port(api.host))
    return Service(*_load(config), options.data, config)


def store_url(settings: ApiSettings | StreamingSettings, data: Path) -> str:
    """The store that the settings name, else the one below ``data``."""
    if "store_url" in settings.model_fields_set:
        return settings.store_url
    return f"sqlite:///{(data / 'deadwatch.db').absolute()}"


def forget_variables() -> None:
    """Take the service's variables out of our environment: what follows runs on flags and defaults alone."""
    for name in [name for name in os.environ if name.startswith(PREFIXES)]:
        del os.environ[name]


def variables(options: Options) -> dict[str, str]:
    """The flags as variables of the processes; what was not said is left out."""
    said: dict[str, str] = {}
    if options.bootstrap_servers is not None:
        said |= {f"{prefix}KAFKA__BOOTSTRAP_SERVERS": options.bootstrap_servers for prefix in PREFIXES}
    if options.connect_urls:
        clusters = [{"url": url, "jolokia_url": options.jolokia_url} for url in options.connect_urls]
        said["COLLECTOR_CONNECT"] = json.dumps(clusters)
    elif options.jolokia_url:
        raise SettingsError(
            "--jolokia-url goes with --connect-url: it is the agent of that cluster's workers"
        )
    if options.broker_jolokia_urls:
        brokers = [{"jolokia_url": url} for url in options.broker_jolokia_urls]
        said["COLLECTOR_BROKERS"] = json.dumps(brokers)
    if options.logs:
        said["COLLECTOR_LOGS"] = json.dumps([{"path": path} for path in options.logs])
    if options.port is not None:
        said["API_PORT"] = str(options.port)
    return said


def unsaid(data: Path, processes: Sequence[ProcessSettings]) -> dict[str, str]:
    """Variables for what neither file nor environment says: places below ``data``, and topics of our own."""
    values: Mapping[str, str] = {
        "quarantine_auto_create_topics_enable": "true",
        "data": str(data / "collector"),
        "local_token_file": str(data / local_token.NAME),
        "checkpoint": str(data / "checkpoint"),
        "store_url": f"sqlite:///{(data / 'deadwatch.db').absolute()}",
    }
    return {
        f"{process.section}_{name}".upper(): value
        for process in processes
        for name, value in values.items()
        if name in type(process).model_fields and name not in process.model_fields_set
    }


def _load(config: Path | None) -> tuple[CollectorSettings, StreamingSettings, RedriveSettings, ApiSettings]:
    return (
        load(CollectorSettings, config),
        load(StreamingSettings, config),
        load(RedriveSettings, config),
        load(ApiSettings, config),
    )


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as server:
        port: int = server.getsockname()[1]
    return port
