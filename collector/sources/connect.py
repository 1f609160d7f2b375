"""The Connect source: every worker of a cluster through REST, and its threads through Jolokia.

One snapshot a worker, at every change and as a heartbeat. Positions are times in ms that only grow, over
restarts too. A worker that REST no longer names is watched on as long as its agent answers: what it abandoned
may still run.
"""

from collections.abc import Callable, Mapping
from functools import partial

import httpx2

from collector.contract.events import Event, Instance, Position, WorkerSnapshot
from collector.settings import ConnectSettings
from collector.sources import agents, connect_rest, http_client, jolokia
from collector.sources.abandoned import Key
from collector.sources.source import Chunk, State
from collector.sources.worker import Worker

_SO_WHAT = ": what it has abandoned is not known; check jolokia_url and the agent"


def source_name(settings: ConnectSettings) -> str:
    """The source's name: its URL without credentials."""
    return f"connect:{cluster_url(settings)}"


def cluster_url(settings: ConnectSettings) -> str:
    """The cluster's URL without what may be secret."""
    url = httpx2.URL(settings.url).copy_with(username=None, password=None, query=None, fragment=None)
    return str(url).rstrip("/")


class ConnectSource:
    """Polls one Connect cluster; ``pause`` waits that many ms."""

    kind = "connect"

    def __init__(
        self,
        settings: ConnectSettings,
        *,
        saved: State | None,
        kafka_cluster: str,
        heartbeat_interval_ms: int,
        clock: Callable[[], int],
        pause: Callable[[int], None],
    ) -> None:
        self.name = source_name(settings)
        self.poll_interval_ms = settings.poll_interval_ms
        self._settings = settings
        self._kafka_cluster = kafka_cluster
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._clock = clock
        self._pause = pause
        self._client = http_client.client(settings.request_timeout_ms)
        self._position_ms = int((saved or {}).get("position_ms", 0))
        self._workers = {
            name: Worker(Key(*key) for key in keys) for name, keys in (saved or {}).get("workers", {}).items()
        }
        self._sent: dict[str, tuple[int, bool, tuple[Instance, ...]]] = {}

    def poll(self) -> Chunk | None:
        """The snapshots that are due. A worker whose agent does not answer is told without its threads."""
        states = connect_rest.workers(self._client, self._settings.url)
        self._workers |= {name: Worker() for name in states if name not in self._workers}
        unclear = agents.one_for_several(self._settings.jolokia_url, states or self._workers)
        events: list[Event] = []
        troubles = [agents.ONE_FOR_SEVERAL] if unclear else []
        for name in sorted(self._workers):
            asked = not unclear and self._has_agent(name, states)
            trouble = self._look(name, states.get(name, {})) if asked else ""
            gone = name not in states and (bool(trouble) or not asked)
            if trouble and not gone:
                troubles.append(f"Jolokia of worker {name} {trouble}")
            threads_known = asked and not trouble
            events += self._snapshot(name, {} if gone else states.get(name, {}), threads_known, gone=gone)
        if not events and not troubles:
            return None
        return Chunk(tuple(events), self._state(), "; ".join(troubles) + _SO_WHAT if troubles else "")

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _has_agent(self, name: str, states: connect_rest.Workers) -> bool:
        """An agent without placeholders is that of the worker REST knows, not of one that has left."""
        template = self._settings.jolokia_url
        return bool(template) and (agents.is_template(template) or name in states or not states)

    def _look(self, name: str, states: Mapping[Key, str]) -> str:
        """Why the worker's threads are not known; "" when they are."""
        url = agents.url_of(self._settings.jolokia_url, name)
        look = partial(jolokia.look, self._client, url)
        try:
            self._workers[name].observe(look, states, self._pause, self._clock())
        except jolokia.JolokiaError as error:
            return str(error)
        return ""

    def _snapshot(
        self, name: str, states: Mapping[Key, str], threads_known: bool, *, gone: bool
    ) -> list[Event]:
        worker = self._workers.pop(name) if gone else self._workers[name]
        instances = () if gone else worker.instances(states, threads_known=threads_known)
        now_ms = self._clock()
        sent_ms, *sent = self._sent.get(name, (0, None, None))
        if sent == [threads_known, instances] and now_ms - sent_ms < self._heartbeat_interval_ms:
            return []
        self._sent[name] = (now_ms, threads_known, instances)
        if gone:
            del self._sent[name]
        self._position_ms = max(now_ms, self._position_ms + 1)
        return [
            WorkerSnapshot(
                source=self.name,
                position=Position(self._position_ms),
                happened_at_ms=now_ms,
                observed_at_ms=now_ms,
                kafka_cluster=self._kafka_cluster,
                worker=name,
                threads_known=threads_known,
                instances=instances,
            )
        ]

    def _state(self) -> State:
        workers = {
            name: [list(key) for key in worker.had_abandoned] for name, worker in self._workers.items()
        }
        return {"position_ms": self._position_ms, "workers": workers}
