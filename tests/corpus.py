"""``python -m tests.corpus``: logs of real libraries in every layout, and beside them what has happened.

Kafka's own console producer logs through Log4j into each layout; kafka-python and librdkafka log as they do.
All of them talk to a server that takes connections and never answers. The truth is what was asked of them,
and how often their text says it. Only the wrappers of container runtimes are imitated: there is none here.
"""

import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import kafka
import pyspark

import jars
from jars.java import find_java
from lab.jvm import Properties, render

CORPUS: Final = Path(__file__).parent / "data" / "corpus"
RECORDS: Final = 3
WITHIN_S: Final = 60

PATTERNS: Final = {
    "kafka.log": "[%d] %p %m (%c)%n",
    "logback.log": "%d{HH:mm:ss.SSS} [%t] %-5level %c{36} -- %m%n",
    "spring-boot.log": "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %5p %pid --- [%15.15t] %-40.40c{1.} : %m%n%xwEx",
}
TEMPLATES: Final = {
    "ecs.json": "EcsLayout.json",
    "logstash.json": "LogstashJsonEventLayoutV1.json",
    "log4j-json.json": "JsonLayout.json",
    "gelf.json": "GelfLayout.json",
}
LOG4J1: Final = {
    "log4j.rootLogger": "INFO, out",
    "log4j.appender.out": "org.apache.log4j.ConsoleAppender",
    "log4j.appender.out.layout": "org.apache.log4j.PatternLayout",
    "log4j.appender.out.layout.ConversionPattern": "[%d] %p %m (%c)%n",
}
PYTHON: Final = """
import logging, sys
from kafka import KafkaProducer
logging.basicConfig({settings})
producer = KafkaProducer(bootstrap_servers="{server}", api_version=(2, 8), max_block_ms=500)
for number in range({records}):
    try:
        producer.send("orders", b"x")
    except Exception:
        logging.getLogger("orders").exception("order %d is lost", number)
producer.close(timeout=1)
"""
LIBRDKAFKA: Final = """
from confluent_kafka import Producer
producer = Producer({{"bootstrap.servers": "{server}", "client.id": "orders", "socket.timeout.ms": 1000}})
producer.produce("orders", b"x")
producer.flush(6)
"""


def main() -> int:
    """Write the corpus anew."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS
    directory.mkdir(parents=True, exist_ok=True)
    with silent_server() as server:
        for name, log in made(server):
            (directory / name).write_bytes(nameless(log))
    plain = (directory / "kafka.log").read_text().splitlines()
    (directory / "cri.log").write_text("".join(map(cri, plain)))
    (directory / "docker.json").write_text("".join(map(docker, plain)))
    truths = {file.name: truth(file) for file in sorted(directory.iterdir()) if file.name != "truth.json"}
    (directory / "truth.json").write_text(json.dumps(truths, indent=2) + "\n")
    return 0


def made(server: str) -> Iterator[tuple[str, bytes]]:
    """Every log that a library writes."""
    for name, pattern in PATTERNS.items():
        yield name, java(server, log4j2({"type": "PatternLayout", "pattern": pattern}))
    for name, template in TEMPLATES.items():
        uri = {"type": "JsonTemplateLayout", "eventTemplateUri": f"classpath:{template}"}
        yield name, java(server, log4j2(uri))
    yield "log4j1.log", java(server, dict(LOG4J1), "log4j.configuration", "-Dlog4j1.compatibility=true")
    formatted = 'format="%(asctime)s %(levelname)s %(name)s %(message)s", level=logging.INFO'
    yield "kafka-python.log", python(PYTHON, server, formatted)
    yield "kafka-python-default.log", python(PYTHON, server, "")
    yield "librdkafka.log", python(LIBRDKAFKA, server)


def nameless(log: bytes) -> bytes:
    """The log without the name of this machine and the place of its packages."""
    packages = str(Path(kafka.__path__[0]).parent).encode()
    return log.replace(packages, b"site-packages").replace(f'"{socket.gethostname()}"'.encode(), b'"host"')


def java(server: str, config: Properties, name: str = "log4j2.configurationFile", *options: str) -> bytes:
    """The log of a console producer with ``RECORDS`` records; each waits for metadata in vain."""
    template = Path(pyspark.__path__[0]) / "jars" / "log4j-layout-template-json-2.25.4.jar"
    limits = ("max.block.ms=700", "request.timeout.ms=400", "delivery.timeout.ms=1000", "linger.ms=0")
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "log.properties"
        file.write_text(render(config))
        command = [
            *(str(find_java().path), "-Xmx128m", "-cp", f"{template}:{jars.classpath('apps')}"),
            *(f"-D{name}={file.as_uri()}", *options, "org.apache.kafka.tools.ConsoleProducer"),
            *("--bootstrap-server", server, "--topic", "orders"),
            *(word for limit in limits for word in ("--command-property", limit)),
        ]
        return _output(command, b"x\n" * RECORDS)


def python(program: str, server: str, settings: str = "") -> bytes:
    """What a Python program logs."""
    text = program.format(server=server, settings=settings, records=RECORDS)
    return _output([sys.executable, "-c", text], b"")


def log4j2(layout: Mapping[str, str]) -> Properties:
    """All from INFO, to the console."""
    return {
        "rootLogger.level": "INFO",
        "rootLogger.appenderRef.out.ref": "out",
        "appender.out.name": "out",
        "appender.out.type": "Console",
        **{f"appender.out.layout.{name}": value for name, value in layout.items()},
    }


def cri(line: str) -> str:
    """As containerd writes it."""
    return f"2026-11-21T06:36:31.123456789Z stdout F {line}\n"


def docker(line: str) -> str:
    """As Docker's json-file driver writes it."""
    one = {"log": f"{line}\n", "stream": "stdout", "time": "2026-11-21T06:36:31.123456789Z"}
    return json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n"


def truth(file: Path) -> dict[str, object]:
    """Who made the log, and what has happened in it."""
    text = file.read_text()
    if file.name == "librdkafka.log":
        requests, metadata, client = text.count(" in-flight, "), 0, "librdkafka"
    elif file.name.startswith("kafka-python"):
        requests, metadata, client = 0, RECORDS, "kafka-python"
    else:
        requests, metadata, client = text.count(" due to request timeout."), RECORDS, "java"
    events = [{"kind": "client_timeout", "client": client, "timeout": "metadata"}] * metadata
    events += [{"kind": "client_timeout", "client": client, "timeout": "request"}] * requests
    wrapped = file.name in ("cri.log", "docker.json")
    return {"made_by": f"{client}, the wrapper is imitated" if wrapped else client, "events": events}


@contextmanager
def silent_server() -> Iterator[str]:
    """HOST:PORT of a server that takes every connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def take() -> None:
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in taken:
            connection.close()


def _output(command: list[str], given: bytes) -> bytes:
    done = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WITHIN_S, check=False
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
