"""The settings of the whole service: flags become variables of its processes, and all is validated.

Strongest first: flags, variables of the environment, the file, and last what follows from ``--data`` (store,
checkpoint, positions). Secrets stay where they are: every process reads the file itself.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pydantic import BaseModel

from api.settings import ApiSettings
from cli import local_token
from cli.options import Options
from cli.supervisor import Program
from collector.settings import CollectorSettings
from deadwatch.runtime.process import SettingsError
from deadwatch.runtime.settings import ProcessSettings
from deadwatch.runtime.settings_file import SHARED, load
from redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings

PREFIXES = ("COLLECTOR_", "STREAMING_", "REDRIVE_", "API_")
SAME_IN_ALL = ("kafka.bootstrap_servers", "kafka.security_protocol", *sorted(SHARED - {"kafka"}))
"""Settings that must be the same in every process that has them, or one writes where none reads."""


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
        host = f"[{self.api.host}]" if ":" in self.api.host else self.api.host
        return f"http://{host}:{self.api.port}"

    @property
    def local_token(self) -> str:
        """The token of users who may read the data directory; "" before there is one."""
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
            Program(settings.section, arguments, logs / f"{settings.section}.log" if logs else None)
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
    os.environ.update(defaults(options.data, processes))
    api = processes[-1]
    if api.port == 0:
        from lab.ports import free_port

        try:
            os.environ["API_PORT"] = str(free_port(api.host))
        except OSError as error:
            raise SettingsError(f"cannot listen on {api.host}: {error.strerror}") from None
    return Service(*_load(config), options.data, config)


def refuse_contradictions(processes: Sequence[ProcessSettings]) -> None:
    """Raise ``SettingsError`` for processes that would not meet; no value is shown, it may be a secret."""
    if not any(_names_kafka(process) for process in processes):
        raise SettingsError(
            "which Kafka? give --bootstrap-servers HOST:PORT, or kafka.bootstrap_servers in --config FILE"
        )
    for path in SAME_IN_ALL:
        having = [process for process in processes if path.split(".")[0] in type(process).model_fields]
        if len({str(reduce(getattr, path.split("."), process)) for process in having}) > 1:
            names = " and ".join(process.section for process in having)
            raise SettingsError(f"{names} disagree on {path}: say it once, at the top level of --config FILE")


def _names_kafka(process: ProcessSettings) -> bool:
    """Whether file or environment name a Kafka for this process."""
    kafka = getattr(process, "kafka", None)
    return isinstance(kafka, BaseModel) and "bootstrap_servers" in kafka.model_fields_set


def store_url(settings: ApiSettings | StreamingSettings, data: Path) -> str:
    """The store that the settings name, else the one below ``data``."""
    if "store_url" in settings.model_fields_set:
        return settings.store_url
    return f"sqlite:///{(data / 'deadwatch.db').absolute()}"


def forget_variables() -> None:
    """Remove the service's variables from our environment: what follows runs on flags and defaults alone."""
    for name in [name for name in os.environ if name.startswith(PREFIXES)]:
        del os.environ[name]


def variables(options: Options) -> dict[str, str]:
    """The flags as variables of the processes; an absent flag sets none. Raises ``SettingsError``."""
    given: dict[str, str] = {}
    if options.bootstrap_servers is not None:
        given |= {f"{prefix}KAFKA__BOOTSTRAP_SERVERS": options.bootstrap_servers for prefix in PREFIXES}
    if options.connect_url:
        clusters = [{"url": url, "jolokia_url": options.jolokia_url} for url in options.connect_url]
        given["COLLECTOR_CONNECT"] = json.dumps(clusters)
    elif options.jolokia_url:
        raise SettingsError(
            "--jolokia-url goes with --connect-url: it is the agent of that cluster's workers"
        )
    if options.broker_jolokia_url:
        brokers = [{"jolokia_url": url} for url in options.broker_jolokia_url]
        given["COLLECTOR_BROKERS"] = json.dumps(brokers)
    if options.log:
        given["COLLECTOR_LOGS"] = json.dumps([{"path": path} for path in options.log])
    if options.port is not None:
        given["API_PORT"] = str(options.port)
    return given


def defaults(data: Path, processes: Sequence[ProcessSettings]) -> dict[str, str]:
    """Variables for what neither file nor environment sets: places below ``data``, and making topics."""
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
