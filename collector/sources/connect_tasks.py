"""The source of Connect's tasks: what went wrong in them by their beans, and which are stalled while RUNNING.

One snapshot of the cluster at every change and as a heartbeat. It looks less often than ``connect``, which
counts threads, and asks Kafka too: so it is a source of its own and holds that one up in nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Final

from collector.contract.events import ConnectTask, ConnectTasksSnapshot
from collector.kafka import KafkaConnection
from collector.settings import ConnectSettings
from collector.sources import agents, connect_running, http_client, sink_groups, task_beans
from collector.sources.abandoned import Key
from collector.sources.connect import cluster_url
from collector.sources.connect_running import RUNNING, Task
from collector.sources.consumer_groups import Group
from collector.sources.jolokia import JolokiaError
from collector.sources.sink_groups import SinkGroups
from collector.sources.snapshots import Snapshots
from collector.sources.source import Chunk, State
from collector.sources.stall_watch import StallWatch, Verdict
from collector.sources.stalled import Patience, Seen
from collector.sources.task_beans import Beans, Errors, Progress

MAX_TASKS: Final = 1_500
"""How many tasks one event holds."""

_SO_WHAT: Final = ": errors and progress of its tasks are not known; check jolokia_url and the agent"


def source_name(settings: ConnectSettings) -> str:
    """The source's name."""
    return f"connect-tasks:{cluster_url(settings)}"


@dataclass(frozen=True, slots=True)
class Found:
    """What one poll has found; ``beans`` are by worker, ``tasks_of`` counts those of each connector."""

    tasks: dict[Key, Task]
    beans: dict[str, Beans]
    groups: dict[str, Group | None]
    tasks_of: Counter[str]


class ConnectTasksSource:
    """Polls one Connect cluster: its REST, its workers' agents, and the groups of its sinks in Kafka."""

    kind = "connect_tasks"

    def __init__(
        self,
        settings: ConnectSettings,
        connection: KafkaConnection,
        *,
        saved: State | None,
        kafka_cluster: str,
        heartbeat_interval_ms: int,
        clock: Callable[[], int],
    ) -> None:
        self.name = source_name(settings)
        self.poll_interval_ms = settings.tasks_poll_interval_ms
        self._settings = settings
        self._kafka_cluster = kafka_cluster
        self._clock = clock
        self._client = http_client.client(settings.request_timeout_ms)
        self._groups = SinkGroups(connection)
        patience = Patience(settings.stalled_after_ms, settings.offset_flush_interval_ms)
        self._watch = StallWatch(patience, (saved or {}).get("timers", ()))
        self._snapshots = Snapshots(saved, heartbeat_interval_ms, clock)

    def poll(self) -> Chunk | None:
        """The snapshot, if it is due."""
        tasks = connect_running.tasks(self._client, self._settings.url)
        beans, troubles = self._ask_agents({task.worker for task in tasks.values()})
        groups = self._groups.ask(self._wanted(tasks.values()))
        found = Found(tasks, beans, groups, Counter(key.connector for key in tasks))
        told = tuple(self._told(key, found) for key in sorted(tasks))
        self._watch.keep(tasks)
        troubles += self._groups.troubles
        if len(told) > MAX_TASKS:
            troubles.append(f"there are more than {MAX_TASKS} tasks; those beyond are not told")
        events = self._due(told[:MAX_TASKS])
        if not events and not troubles:
            return None
        state = {**self._snapshots.state(), "timers": self._watch.state()}
        return Chunk(events, state, "; ".join(troubles))

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()
        self._groups.close()

    def _ask_agents(self, workers: Collection[str]) -> tuple[dict[str, Beans], list[str]]:
        """The beans of every worker whose agent tells; why the others do not."""
        template = self._settings.jolokia_url
        if agents.one_for_several(template, workers):
            return {}, [agents.ONE_FOR_SEVERAL + _SO_WHAT]
        beans, troubles = {}, []
        for worker in sorted(workers) if template else ():
            try:
                beans[worker] = task_beans.read(self._client, agents.url_of(template, worker))
            except JolokiaError as error:
                troubles.append(f"Jolokia of worker {worker} {error}{_SO_WHAT}")
        return beans, troubles

    def _wanted(self, tasks: Collection[Task]) -> set[str]:
        """The groups of sinks that run."""
        if not self._settings.stalled_after_ms:
            return set()
        return {task.group for task in tasks if task.group and task.state == RUNNING}

    def _told(self, key: Key, found: Found) -> ConnectTask:
        task = found.tasks[key]
        of_worker = found.beans.get(task.worker, Beans())
        errors, progress = of_worker.errors.get(key), of_worker.progress.get(key)
        verdict = self._judge(key, progress, found)
        return ConnectTask(
            worker=task.worker,
            connector=key.connector,
            task=key.task,
            state=task.state,
            counted=errors is not None,
            started_at_ms=of_worker.started_at_ms,
            records=progress.records if progress else 0,
            **asdict(errors or Errors()),
            judged=verdict.judged,
            stalled_since_ms=verdict.since_ms,
            stalled_because=verdict.because,
        )

    def _judge(self, key: Key, progress: Progress | None, found: Found) -> Verdict:
        if not self._settings.stalled_after_ms:
            return Verdict()
        task, only = found.tasks[key], found.tasks_of[key.connector] == 1
        group = found.groups.get(task.group)
        extents = sink_groups.of_task(key, group, only=only) if group else None
        seen = Seen(
            running=task.state == RUNNING,
            sink=bool(task.group),
            progress=progress,
            extents=None if extents is None else tuple(extents.values()),
            steady=group is None or group.steady,
        )
        held = progress.held if progress else 0
        return self._watch.look(
            key, seen, lambda: self._groups.a_record_waits(extents or {}, held), self._clock()
        )

    def _due(self, tasks: tuple[ConnectTask, ...]) -> tuple[ConnectTasksSnapshot, ...]:
        moment = self._snapshots.due(tasks)
        if moment is None:
            return ()
        snapshot = ConnectTasksSnapshot(
            source=self.name,
            position=moment.position,
            happened_at_ms=moment.now_ms,
            observed_at_ms=moment.now_ms,
            kafka_cluster=self._kafka_cluster,
            connect_cluster=self._settings.name or cluster_url(self._settings),
            connect_tasks=tasks,
        )
        return (snapshot,)
