"""A real Prometheus and a real Alertmanager on loopback ports, and a webhook that keeps what arrives."""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx2
import yaml

from lab.ports import free_port
from lab.processes import until
from tests import http
from tests.http_server import served

UP_WITHIN_S = 60
SCRAPE_S = 1


def missing() -> list[str]:
    """The programs that are not installed."""
    names = ("prometheus", "prometheus-alertmanager", "promtool")
    return [name for name in names if shutil.which(name) is None]


@dataclass
class Webhook:
    """Every alert that Alertmanager has sent, with its status."""

    url: str
    _alerts: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, alerts: Sequence[dict[str, Any]]) -> None:
        with self._lock:
            self._alerts += alerts

    def all(self, name: str, status: str = "firing") -> list[dict[str, Any]]:
        with self._lock:
            return [a for a in self._alerts if a["labels"]["alertname"] == name and a["status"] == status]

    @property
    def names(self) -> set[str]:
        with self._lock:
            return {alert["labels"]["alertname"] for alert in self._alerts}


@dataclass(frozen=True)
class Prometheus:
    """What it knows, by its HTTP interface."""

    url: str

    def query(self, expression: str, at_s: float | None = None) -> list[dict[str, Any]]:
        """At a time, or now."""
        return self._result("query", query=expression, time=f"{at_s or time.time():.3f}")

    def query_range(self, expression: str, seconds: int, step: int) -> list[dict[str, Any]]:
        end = time.time()
        return self._result("query_range", query=expression, start=end - seconds, end=end, step=step)

    def tell(self, path: str, **parameters: str | float) -> Any:  # noqa: ANN401 -- JSON
        """The data of an answer."""
        told = http.post(f"{self.url}/api/v1/{path}", data=parameters).json()
        assert told["status"] == "success", f"{told.get('error')}: {parameters}"
        return told["data"]

    def _result(self, path: str, **parameters: str | float) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.tell(path, **parameters)["result"]
        return result


@dataclass(frozen=True)
class Monitoring:
    """All three together."""

    prometheus: Prometheus
    webhook: Webhook


@contextmanager
def running(directory: Path, target: str, rules: Mapping[str, Any]) -> Iterator[Monitoring]:
    """Scrape ``target`` (host:port) as job deadwatch, evaluate ``rules``, send alerts to the webhook."""
    directory.mkdir()
    with ExitStack() as stack:
        webhook = stack.enter_context(_webhook())
        alertmanager = f"127.0.0.1:{free_port()}"
        config = _write(directory / "alertmanager.yml", _alertmanager(webhook.url))
        command = [
            "prometheus-alertmanager",
            f"--config.file={config}",
            f"--storage.path={directory / 'alertmanager'}",
            f"--web.listen-address={alertmanager}",
            "--cluster.listen-address=",
        ]
        stack.enter_context(_process(command, directory / "alertmanager.log", f"http://{alertmanager}"))
        prometheus = stack.enter_context(scraping(directory, target, rules, alertmanager))
        yield Monitoring(prometheus, webhook)


@contextmanager
def scraping(
    directory: Path, target: str, rules: Mapping[str, Any] = MappingProxyType({}), alertmanager: str = ""
) -> Iterator[Prometheus]:
    """As ``running``, with an Alertmanager that there is, or none; it keeps exemplars."""
    _write(directory / "rules.yaml", rules)
    config = _write(directory / "prometheus.yml", _prometheus(target, alertmanager))
    address = f"127.0.0.1:{free_port()}"
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'prometheus'}",
        f"--web.listen-address={address}",
        "--rules.alert.resend-delay=5s",  # what fired before Alertmanager was found
        "--enable-feature=exemplar-storage",
    ]
    with _process(command, directory / "prometheus.log", f"http://{address}"):
        yield Prometheus(f"http://{address}")


def _alertmanager(webhook: str) -> dict[str, Any]:
    return {
        "route": {
            "receiver": "webhook",
            "group_by": ["..."],
            "group_wait": "0s",
            "group_interval": "1s",
            "repeat_interval": "1h",
        },
        "receivers": [{"name": "webhook", "webhook_configs": [{"url": webhook, "send_resolved": True}]}],
    }


def _prometheus(target: str, alertmanager: str) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": f"{SCRAPE_S}s", "evaluation_interval": f"{SCRAPE_S}s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [{"job_name": "deadwatch", "static_configs": [{"targets": [target]}]}],
        "alerting": {
            "alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []
        },
    }


@contextmanager
def _webhook() -> Iterator[Webhook]:
    def keep(_method: str, _path: str, body: bytes) -> tuple[int, bytes]:
        webhook.add(json.loads(body)["alerts"])
        return 200, b""

    with served(keep) as port:
        webhook = Webhook(f"http://127.0.0.1:{port}/")
        yield webhook


@contextmanager
def _process(command: Sequence[str], log: Path, url: str) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=log.parent)
    try:
        until(lambda: process.poll() is not None or _ready(url), f"{url}: see {log}", UP_WITHIN_S)
        assert process.poll() is None, log.read_text()[-2000:]
        yield
    finally:
        process.terminate()
        process.wait()


def _ready(url: str) -> bool:
    try:
        return http.get(f"{url}/-/ready").is_success
    except httpx2.TransportError:
        return False


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(dict(content), sort_keys=False))
    return path
