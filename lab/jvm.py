"""How a Kafka program is started: small heap, quick start, one log file, Jolokia where it is asked for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jars

_QUICK: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

PLAIN_LAYOUT: Final = "[%d] %p %m (%c:%L)%n"
CONNECT_LAYOUT: Final = "[%d] %p %X{connector.context}%m (%c:%L)%n"

Properties = dict[str, str | int | Path]


@dataclass(frozen=True, slots=True)
class Jvm:
    """One Java program: which jars, how much heap, where it logs."""

    java: Path
    conf: jars.Conf
    heap_mb: int
    log: Path
    layout: str = PLAIN_LAYOUT
    jolokia_port: int | None = None

    def command(self, main: str, *arguments: str | Path) -> list[str | Path]:
        """The command line; writes the logging configuration beside the log."""
        config = self.log.with_suffix(".log4j2.properties")
        config.write_text(render(log4j2(self.log, self.layout)), encoding="utf-8")
        return [
            *launcher(self.java, self.conf, self.heap_mb),
            f"-Dlog4j2.configurationFile={config.as_uri()}",
            *self._agent(),
            main,
            *arguments,
        ]

    def _agent(self) -> list[str]:
        if self.jolokia_port is None:
            return []
        [agent] = jars.files("agents")
        return [f"-javaagent:{agent}=port={self.jolokia_port},host=127.0.0.1"]


def launcher(java: Path, conf: jars.Conf, heap_mb: int) -> list[str | Path]:
    """The part of the command line that every program shares."""
    return [java, f"-Xmx{heap_mb}m", *_QUICK, "-cp", jars.classpath(conf)]


def log4j2(log: Path, layout: str) -> Properties:
    """One appender, everything from INFO; a program started again goes on in the same file."""
    return {
        "rootLogger.level": "INFO",
        "rootLogger.appenderRef.file.ref": "file",
        "appender.file.name": "file",
        "appender.file.type": "File",
        "appender.file.fileName": log,
        "appender.file.layout.type": "PatternLayout",
        "appender.file.layout.pattern": layout,
    }


def render(properties: Properties) -> str:
    """The text of a Java properties file."""
    return "".join(f"{name}={_escaped(str(value))}\n" for name, value in properties.items())


def write_properties(file: Path, properties: Properties) -> Path:
    """Write a properties file for its owner's eyes (it may hold a password)."""
    file.touch(mode=0o600)
    file.write_text(render(properties), encoding="utf-8")
    return file


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
