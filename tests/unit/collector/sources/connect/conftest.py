"""A Connect cluster of one worker, whose agent answers on the port of its REST."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Final

import pytest

from tests.http_server import Serve

NONE: Final = {"status": 404, "error": "none"}


@dataclass
class Cluster:
    """``connectors`` have tasks on ``workers``, in turn; ``beans`` are what the agent reads, by pattern.

    ``body`` and ``jolokia_body`` are answers in place of these; one that ``hangs`` answers nothing.
    """

    port: int = 0
    status: int = 200
    body: bytes = b""
    connectors: dict[str, list[str]] = field(default_factory=dict)
    workers: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    beans: dict[str, object] = field(default_factory=dict)
    jolokia_body: bytes = b""
    hangs: bool = False
    over: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.worker}"

    @property
    def worker(self) -> str:
        return f"127.0.0.1:{self.port}"

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes] | None:
        self.asked.append(path)
        if self.hangs:
            self.over.wait()
            return None
        return (self.status, self._rest()) if method == "GET" else (200, self._jolokia(json.loads(body)))

    def _rest(self) -> bytes:
        workers = cycle({"state": "RUNNING", "worker_id": worker} for worker in self.workers)
        described = {
            name: {
                "info": {"config": {}, "type": "source"},
                "status": {
                    "connector": {"state": "RUNNING", "worker_id": self.worker},
                    "tasks": [{"id": int(task), **next(workers)} for task in tasks],
                },
            }
            for name, tasks in self.connectors.items()
        }
        return self.body or json.dumps(described).encode()

    def _jolokia(self, request: list[dict[str, Any]]) -> bytes:
        threads = [{"threadName": name, "threadId": number} for number, name in enumerate(self.threads)]
        found = {"java.lang:type=Threading": threads, **self.beans}
        answers = [
            {"status": 200, "value": found[part["mbean"]]} if part["mbean"] in found else NONE
            for part in request
        ]
        return self.jolokia_body or json.dumps(answers).encode()


@pytest.fixture
def cluster(serve: Serve) -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.port = serve(cluster.answer)
    cluster.workers = [cluster.worker]
    yield cluster
    cluster.over.set()
