"""The source of Connect's tasks: their errors by their beans, and which of them are stalled while RUNNING.

One snapshot of the cluster at every change and as a heartbeat. It polls less often than ``workers``,
which counts threads, and it asks Kafka too: so it is a source of its own and delays nothing of that one.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final

from collector.settings import ConnectSettings
from collector.sources.connect import interfaces, sink_groups
from collector.sources.connect.interfaces import ERRORS, RUNNING, Beans, Key, Progress, Task
from collector.sources.connect.sink_groups import Extents, Group, SinkGroups
from collector.sources.connect.stalled import StallWatch, TaskObservation, Verdict
from collector.sources.connect.workers import cluster_url
from collector.sources.jolokia import JolokiaError
from collector.sources.source import Chunk, Publishing, Snapshots
from deadwatch.contract.events import ConnectTask, ConnectTasksSnapshot
from deadwatch.runtime import http_client
from deadwatch.runtime.kafka import KafkaConnection

MAX_TASKS: Final = 1_500
"""How many tasks one event holds."""

_CONSEQUENCE: Final = ": errors and progress of its tasks are not known; check jolokia_url and the agent"


class ConnectTasksSource:
    """Polls one Connect cluster: its REST, its workers' agents, and the groups of its sinks in Kafka."""

    kind = "connect_tasks"

    def __init__(
        self, settings: ConnectSettings, connection: KafkaConnection, publishing: Publishing
    ) -> None:
        self.name = f"connect-tasks:{cluster_url(settings)}"
        self.poll_interval_ms = settings.tasks_poll_interval_ms
        self._settings = settings
        self._clock = publishing.clock
        self._client = http_client.client(settings.request_timeout_ms)
        self._groups = SinkGroups(connection)
        self._snapshots = Snapshots(self.name, publishing)
        self._watch = StallWatch(settings, self._snapshots.saved.get("timers", ()))

    def poll(self) -> Chunk | None:
        """The snapshot, if it is due."""
        tasks = interfaces.tasks(self._client, self._settings.url)
        beans, troubles = self._ask_agents({task.worker for task in tasks.values()})
        judged = tasks.values() if self._settings.stalled_after_ms else ()
        groups = self._groups.ask({task.group for task in judged if task.group and task.state == RUNNING})
        tasks_of = Counter(key.connector for key in tasks)
        described = tuple(
            self._described(key, task, beans.get(task.worker, Beans()), groups.get(task.group), tasks_of)
            for key, task in sorted(tasks.items())
        )
        self._watch.keep(tasks)
        troubles += self._groups.troubles
        cluster = self._settings.name or cluster_url(self._settings)
        kept = self._snapshots.fitting(described, MAX_TASKS)
        if len(kept) < len(described):
            troubles.append("there are more tasks than one event holds; those beyond are not published")
        due = self._snapshots.due(ConnectTasksSnapshot, connect_cluster=cluster, connect_tasks=kept)
        return self._snapshots.chunk(due, troubles, timers=self._watch.state())

    def close(self) -> None:
        """Close all connections that are open."""
        self._client.close()
        self._groups.close()

    def _ask_agents(self, workers: Collection[str]) -> tuple[dict[str, Beans], list[str]]:
        """The beans of every worker whose agent answers, and why the others do not."""
        template = self._settings.jolokia_url
        if interfaces.one_for_several(template, workers):
            return {}, [interfaces.ONE_FOR_SEVERAL + _CONSEQUENCE]
        beans, troubles = {}, []
        for worker in sorted(workers) if template else ():
            try:
                beans[worker] = interfaces.task_beans(self._client, interfaces.url_of(template, worker))
            except JolokiaError as error:
                troubles.append(f"Jolokia of worker {worker} {error}{_CONSEQUENCE}")
        return beans, troubles

    def _described(
        self, key: Key, task: Task, of_worker: Beans, group: Group | None, tasks_of: Counter[str]
    ) -> ConnectTask:
        errors, progress = of_worker.errors.get(key), of_worker.progress.get(key)
        extents = sink_groups.of_task(key, group, only=tasks_of[key.connector] == 1) if group else None
        verdict = self._judge(key, task, progress, group, extents)
        return ConnectTask(
            worker=task.worker,
            connector=key.connector,
            task=key.task,
            state=task.state,
            counted=errors is not None,
            started_at_ms=of_worker.started_at_ms,
            records=progress.records if progress else 0,
            **(errors or dict.fromkeys(ERRORS, 0)),
            judged=verdict.judged,
            stalled_since_ms=verdict.since_ms,
            stalled_because=verdict.because,
        )

    def _judge(
        self, key: Key, task: Task, progress: Progress | None, group: Group | None, extents: Extents | None
    ) -> Verdict:
        if not self._settings.stalled_after_ms:
            return Verdict()
        observation = TaskObservation(
            running=task.state == RUNNING,
            sink=bool(task.group),
            progress=progress,
            extents=None if extents is None else tuple(extents.values()),
            steady=group is None or group.steady,
        )
        held = progress.held if progress else 0
        return self._watch.judge(
            key, observation, lambda: self._groups.a_record_waits(extents or {}, held), self._clock()
        )
