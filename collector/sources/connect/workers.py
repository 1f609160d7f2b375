"""The source of Connect's workers: every worker of a cluster by REST, and its threads by Jolokia.

One snapshot for each worker, at every change and as a heartbeat. Positions are times in ms that only
grow, also over restarts. A worker that REST no longer names is watched as long as its agent answers: what
it abandoned may still run. Abandoned instances are threads that a worker's beans do not account for.

A connector or task runs on a thread that is named after it, and has a bean while the worker holds on to it;
the bean comes before the thread and goes after it. A bean whose task has failed stands for no thread, but
only some time after the failure, because a task closes on its own thread. A connector is also accounted for
by REST, since an abandoned instance may take the bean of its successor away when it ends.

A task that REST calls RUNNING and that has no thread in any look for ``THREADLESS_MS`` has the state
``THREADLESS`` instead: Connect itself will say RUNNING until somebody restarts it.

A number changes only when two readings, a moment apart, agree thread by thread: what is just starting or
stopping never shows.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Final

import httpx2

from collector.settings import ConnectSettings
from collector.sources import jolokia
from collector.sources.connect import interfaces
from collector.sources.connect.interfaces import RUNNING, UNASSIGNED, InstanceState, Key, WorkerState
from collector.sources.source import Chunk, Publishing, Snapshots
from deadwatch.contract.events import THREADLESS, Instance, WorkerSnapshot
from deadwatch.runtime import http_client

_CONSEQUENCE = ": what it has abandoned is not known; check jolokia_url and the agent"
FAILED: Final = "failed"
CLOSING_MS: Final = 30_000
"""How long a failed task may take to close before its thread counts as abandoned."""

THREADLESS_MS: Final = 10_000
"""How long a task may be RUNNING before its thread is there: one that is starting or moving is not lost."""

SECOND_READING_MS: Final = 50
MAX_EXPLAINED: Final = 200
"""Of how many FAILED instances a snapshot says why, so that it fits into one record."""
MAX_REPORTED: Final = 1_000
"""How many keys are remembered only to say that nothing of them is abandoned any more."""


def source_name(settings: ConnectSettings) -> str:
    """The name of a cluster's source: its URL without credentials."""
    return f"connect:{cluster_url(settings)}"


def cluster_url(settings: ConnectSettings) -> str:
    """The cluster's URL without what may be secret."""
    url = httpx2.URL(settings.url).copy_with(username=None, password=None, query=None, fragment=None)
    return str(url).rstrip("/")


def failures(state: WorkerState, known: Mapping[Key, int], now_ms: int) -> dict[Key, int]:
    """When each failed task was first seen to have failed."""
    return {
        key: known.get(key, now_ms) for key, status in state.beans.items() if key.task and status == FAILED
    }


def without_thread(
    state: WorkerState, instances: Mapping[Key, InstanceState], known: Mapping[Key, int], now_ms: int
) -> dict[Key, int]:
    """Since when each task that REST calls RUNNING has been seen without a thread."""
    running = (key for key, instance in instances.items() if key.task and instance.name == RUNNING)
    return {key: known.get(key, now_ms) for key in running if key not in state.threads}


def count(
    state: WorkerState, running: Collection[Key], failed_since_ms: Mapping[Key, int], now_ms: int
) -> dict[Key, int]:
    """Abandoned instances by key, without zeros; ``running`` are the connectors that REST says run here."""
    closed = {key for key, since_ms in failed_since_ms.items() if now_ms - since_ms > CLOSING_MS}
    held = {key for key in {*state.beans, *running} if key not in closed}
    surplus = {key: len(ids) - (key in held) for key, ids in state.threads.items()}
    return {key: number for key, number in surplus.items() if number > 0}


def settled(
    states: tuple[WorkerState, WorkerState],
    counts: tuple[Mapping[Key, int], Mapping[Key, int]],
    before: Mapping[Key, int],
) -> dict[Key, int]:
    """The counts that both readings agree on; if they differ, the count from before."""
    first, second = counts
    result = {
        key: second.get(key, 0)
        if states[0].threads.get(key) == states[1].threads.get(key) and first.get(key) == second.get(key)
        else before.get(key, 0)
        for key in {*first, *second, *before}
    }
    return {key: number for key, number in result.items() if number}


class Worker:
    """Abandoned instances of one worker, and which keys have ever had one."""

    def __init__(self, had_abandoned: Iterable[Key] = ()) -> None:
        self.had_abandoned = dict.fromkeys(had_abandoned)
        self._counts: dict[Key, int] = {}
        self._failed_since_ms: dict[Key, int] = {}
        self._lost_since_ms: dict[Key, int] = {}
        self._lost: frozenset[Key] = frozenset()

    def observe(
        self,
        read: Callable[[], WorkerState],
        instances: Mapping[Key, InstanceState],
        pause: Callable[[int], None],
        now_ms: int,
    ) -> None:
        """Read the worker once, and a second time before any count changes."""
        running = {key for key, state in instances.items() if not key.task and state.name != UNASSIGNED}
        first = read()
        self._failed_since_ms = failures(first, self._failed_since_ms, now_ms)
        self._lost_since_ms = without_thread(first, instances, self._lost_since_ms, now_ms)
        self._lost = frozenset(
            key for key, since_ms in self._lost_since_ms.items() if now_ms - since_ms >= THREADLESS_MS
        )
        counted = count(first, running, self._failed_since_ms, now_ms)
        if counted == self._counts:
            return
        pause(SECOND_READING_MS)
        second = read()
        counted_again = count(second, running, self._failed_since_ms, now_ms)
        self._counts = settled((first, second), (counted, counted_again), self._counts)
        self.had_abandoned |= dict.fromkeys(self._counts)
        for key in list(self.had_abandoned)[:-MAX_REPORTED]:
            del self.had_abandoned[key]

    def instances(self, states: Mapping[Key, InstanceState], *, threads_known: bool) -> tuple[Instance, ...]:
        """The instances that REST knows, and those that have or had something abandoned."""
        counts = self._counts if threads_known else {}
        lost = self._lost if threads_known else frozenset[Key]()
        traced = {key: state.trace for key, state in sorted(states.items()) if state.trace}
        explained = dict(islice(traced.items(), MAX_EXPLAINED))
        return tuple(
            Instance(
                connector=key.connector,
                task=key.task,
                state=THREADLESS if key in lost else states.get(key, InstanceState("")).name,
                abandoned=counts.get(key, 0),
                trace=explained.get(key, ""),
            )
            for key in sorted({*states, *self.had_abandoned})
        )


class ConnectSource:
    """Polls one Connect cluster; ``pause`` waits that many ms."""

    kind = "connect"

    def __init__(
        self, settings: ConnectSettings, publishing: Publishing, *, pause: Callable[[int], None]
    ) -> None:
        self.name = source_name(settings)
        self.poll_interval_ms = settings.poll_interval_ms
        self._settings = settings
        self._clock = publishing.clock
        self._pause = pause
        self._client = http_client.client(settings.request_timeout_ms)
        self._snapshots = Snapshots(self.name, publishing)
        saved = self._snapshots.saved.get("workers", {})
        self._workers = {name: Worker(Key(*key) for key in keys) for name, keys in saved.items()}

    def poll(self) -> Chunk | None:
        """The snapshots that are due; that of a worker whose agent does not answer has no threads."""
        states = interfaces.workers(self._client, self._settings.url)
        self._workers |= {name: Worker() for name in states if name not in self._workers}
        template = self._settings.jolokia_url
        unclear = interfaces.one_for_several(template, states or self._workers)
        events: list[WorkerSnapshot] = []
        troubles = [interfaces.ONE_FOR_SEVERAL] if unclear else []
        for name in sorted(self._workers):
            # An agent without placeholders is that of the worker REST knows, not of one that has left.
            has_agent = template and ("{" in template or name in states or not states)
            asked = bool(has_agent) and not unclear
            trouble = self._read_threads(name, states.get(name, {})) if asked else ""
            gone = name not in states and (bool(trouble) or not asked)
            if trouble and not gone:
                troubles.append(f"Jolokia of worker {name} {trouble}")
            threads_known = asked and not trouble
            events += self._snapshot(name, {} if gone else states.get(name, {}), threads_known, gone=gone)
        kept = {name: [list(key) for key in worker.had_abandoned] for name, worker in self._workers.items()}
        text = "; ".join(troubles) + _CONSEQUENCE if troubles else ""
        return self._snapshots.chunk(tuple(events), [text] if text else [], workers=kept)

    def close(self) -> None:
        """Close all connections that are open."""
        self._client.close()

    def _read_threads(self, name: str, states: Mapping[Key, InstanceState]) -> str:
        """Why the worker's threads are not known; "" when they are."""
        url = interfaces.url_of(self._settings.jolokia_url, name)
        read = partial(interfaces.worker_state, self._client, url)
        try:
            self._workers[name].observe(read, states, self._pause, self._clock())
        except jolokia.JolokiaError as error:
            return str(error)
        return ""

    def _snapshot(
        self, name: str, states: Mapping[Key, InstanceState], threads_known: bool, *, gone: bool
    ) -> tuple[WorkerSnapshot, ...]:
        worker = self._workers.pop(name) if gone else self._workers[name]
        instances = () if gone else worker.instances(states, threads_known=threads_known)
        content = {"worker": name, "threads_known": threads_known, "instances": instances}
        due = self._snapshots.due(WorkerSnapshot, name, **content)
        if gone:
            self._snapshots.forget(name)
        return due
