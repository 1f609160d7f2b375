"""How a Java program of Kafka's is started, and asked over HTTP on loopback: Connect's REST, and Jolokia.

Small heap, quick start, one log file, the agent where it is asked for.
"""

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jars
from lab.processes import Processes

_QUICK: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

_COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"
"""Eclipse's: a Java runtime alone has none."""

_WITHIN_S: Final = 60
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))

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
        """The command line; the logging configuration and temporary files are beside the log."""
        config = self.log.with_suffix(".log4j2.properties")
        write_properties(config, self._logging())
        agent = []
        if self.jolokia_port is not None:
            [jar] = jars.files("agents")
            agent = [f"-javaagent:{jar}=port={self.jolokia_port},host=127.0.0.1"]
        return [
            *launcher(self.java, self.conf, self.heap_mb),
            f"-Dlog4j2.configurationFile={config.as_uri()}",
            f"-Djava.io.tmpdir={self.log.parent}",
            *agent,
            main,
            *arguments,
        ]

    def _logging(self) -> Properties:
        """One appender, everything from INFO; a program started again goes on in the same file."""
        return {
            "rootLogger.level": "INFO",
            "rootLogger.appenderRef.file.ref": "file",
            "appender.file.name": "file",
            "appender.file.type": "File",
            "appender.file.fileName": self.log,
            "appender.file.layout.type": "PatternLayout",
            "appender.file.layout.pattern": self.layout,
        }


@dataclass(slots=True)
class Application:
    """``<main>.java``, which stands beside this file; ``launched`` once an act has needed it.

    Its classes are made in ``directory``, by whose name the process is called.
    """

    main: str
    jvm: Jvm
    directory: Path
    launched: bool = False

    def launch(self, processes: Processes, *arguments: str | Path) -> None:
        """Compile it with the jars of its program, and start it."""
        self.directory.mkdir()
        classes = self.directory / "classes"
        class_path = os.pathsep.join(map(str, (classes, *jars.files(self.jvm.conf))))
        compilers = os.pathsep.join(map(str, jars.files("spring")))
        options = ("--release", "17", "-proc:none", "-nowarn", "-cp", class_path, "-d", classes)
        source = Path(__file__).with_name(f"{self.main}.java")
        processes.run("ecj", [self.jvm.java, "-cp", compilers, _COMPILER, *options, source], self.directory)
        command = self.jvm.command(self.main, *arguments)
        command[command.index("-cp") + 1] = class_path
        processes.start(self.directory.name, command, self.directory, self.jvm.log)
        self.launched = True


def launcher(java: Path, conf: jars.Conf, heap_mb: int) -> list[str | Path]:
    """The part of the command line that every program shares."""
    return [java, f"-Xmx{heap_mb}m", *_QUICK, "-cp", jars.classpath(conf)]


def render(properties: Properties) -> str:
    """The text of a Java properties file."""
    escapes = str.maketrans({"\\": "\\\\", "\n": "\\n"})
    return "".join(f"{name}={str(value).translate(escapes)}\n" for name, value in properties.items())


def write_properties(file: Path, properties: Properties) -> Path:
    """Write a properties file for its owner's eyes (it may hold a password)."""
    file.touch(mode=0o600)
    file.write_text(render(properties), encoding="utf-8")
    return file


def call(url: str, body: object = None, method: str | None = None) -> Any:  # noqa: ANN401 - JSON is any shape
    """Send a request and return the decoded answer; None for an empty one. Raises OSError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - http to loopback, spelt by the lab
    with _OPENER.open(request, timeout=_WITHIN_S) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def answers(url: str) -> bool:
    """Whether a GET is answered with success."""
    try:
        call(url)
    except (OSError, ValueError):
        return False
    return True
