"""What Connect says of connectors and tasks that do not stop (KIP-611).

This module is a table: its length is the number of strings.
"""

from functools import partial
from typing import Final

from tests.unit.collector.sources.logs.kafka_strings.string import AT, String

_string = partial(String, "abandoned tasks")

_UNRESPONSIVE: Final = (
    "Connector 'my-sink' failed to properly shut down, has become unresponsive, and may be consuming external"
    " resources. Correct the configuration for this connector or remove the connector. After fixing the"
    " connector, it may be necessary to restart this worker to release any consumed resources."
)
ABANDONED: Final = (
    _string(
        "a task is told to stop",
        f"{AT} INFO [my-sink|task-0] Stopping task my-sink-0 (o.Worker:1030)",
        because="most stop in time",
    ),
    _string(
        "a task is abandoned",
        f"{AT} ERROR [my-sink|task-0] Graceful stop of task my-sink-0 failed. (o.Worker:1104)",
        ({"kind": "task_abandoned", "connector": "my-sink", "task": "0"},),
    ),
    _string(
        "a source cannot be polled now",
        f"{AT} WARN [my-source|task-0] WorkerSourceTask{{id=my-source-0}} failed to poll records from"
        " SourceTask. Will retry operation. (o.AbstractWorkerSourceTask:472)\n"
        "org.apache.kafka.connect.errors.RetriableException: the database is away",
        ({"kind": "task_retriable_exception", "connector": "my-source", "task": "0"},),
    ),
    _string(
        "a sink cannot put now",
        f"{AT} ERROR [my-sink|task-1] WorkerSinkTask{{id=my-sink-1}} RetriableException from SinkTask:"
        " (o.WorkerSinkTask:628)\norg.apache.kafka.connect.errors.RetriableException: too many requests",
        ({"kind": "task_retriable_exception", "connector": "my-sink", "task": "1"},),
    ),
    _string(
        "a task has stopped in time",
        f"{AT} DEBUG [my-sink|task-0] Graceful stop of task my-sink-0 succeeded. (o.Worker:1106)",
        because="nothing is abandoned",
    ),
    _string(
        "a connector is told to stop",
        f"{AT} INFO [my-sink|worker] Stopping connector my-sink (o.Worker:1)\n"
        f"{AT} INFO [my-sink|worker] Scheduled shutdown for WorkerConnector{{id=my-sink}} (o.W:1)",
        because="most stop in time",
    ),
    _string(
        "a connector is abandoned",
        f"{AT} ERROR [my-sink|worker] {_UNRESPONSIVE} (o.Worker:1)",
        ({"kind": "connector_abandoned", "connector": "my-sink"},),
    ),
    _string(
        "a connector has stopped in time",
        f"{AT} INFO [my-sink|worker] Scheduled shutdown for WorkerConnector{{id=my-sink}} (o.W:1)\n"
        f"{AT} INFO [my-sink|worker] Completed shutdown for WorkerConnector{{id=my-sink}} (o.W:1)",
        because="nothing is abandoned",
    ),
    _string(
        "an abandoned connector has ended after all",
        f"{AT} ERROR [my-sink|worker] {_UNRESPONSIVE} (o.Worker:1)\n"
        f"{AT} INFO [my-sink|worker] Completed shutdown for WorkerConnector{{id=my-sink}} (o.W:1)",
        (
            {"kind": "connector_abandoned", "connector": "my-sink"},
            {"kind": "abandoned_ended", "connector": "my-sink", "task": ""},
        ),
    ),
    _string(
        "a connector fails while it stops",
        f"{AT} ERROR [my-sink|worker] WorkerConnector{{id=my-sink}} Error while shutting down"
        " connector (o.W:1)",
        because="it has ended all the same: its worker's threads tell whether it was abandoned",
    ),
    _string(
        "an abandoned task throws",
        f"{AT} WARN [my-sink|task-0] WorkerSinkTask{{id=my-sink-0}} After being scheduled for shutdown, the"
        " orphan task threw an uncaught exception. A newer instance of this task might be already running"
        " (o.WorkerTask:1)",
        ({"kind": "abandoned_ended", "connector": "my-sink", "task": "0"},),
    ),
    _string(
        "a consumer is closed",
        f"{AT} INFO [my-sink|task-0] App info kafka.consumer for connector-consumer-my-sink-0"
        " unregistered (o.A:1)",
        because="a healthy task writes it as well: the threads tell when an abandoned one has ended",
    ),
    _string(
        "a cancelled task does not commit",
        f"{AT} DEBUG [my-sink|task-0] Skipping final offset commit as task has been cancelled (o.W:1)",
        because="it was abandoned before, and may still run",
    ),
    _string(
        "a task fails while it stops",
        f"{AT} ERROR [my-sink|task-0] WorkerSinkTask{{id=my-sink-0}} Task threw an uncaught and"
        " unrecoverable exception during shutdown (o.W:1)",
        because="it has ended: nothing is abandoned",
    ),
    _string(
        "a worker stops with tasks",
        f"{AT} WARN Shutting down tasks [my-sink-0] uncleanly; herder should have shut down tasks before the"
        " Worker is stopped (o.Worker:1)",
        because="the process ends, and with it all that it runs",
    ),
    _string(
        "a worker starts",
        f"{AT} INFO Kafka Connect worker initializing ... (o.C:1)\n"
        f"{AT} INFO Advertised URI: http://10.0.0.7:8083/ (o.RestServer:421)",
        ({"kind": "worker_started", "worker": "10.0.0.7:8083"},),
    ),
    _string(
        "a worker of an earlier version starts",
        f"{AT} INFO Kafka Connect distributed worker initializing ... (o.C:1)\n"
        f"{AT} INFO Advertised URI: http://10.0.0.7:8083/ (o.RestServer:421)\n"
        f"{AT} INFO Kafka Connect distributed worker initialization took 2051ms (o.C:1)",
        ({"kind": "worker_started", "worker": "10.0.0.7:8083"},),
    ),
    _string(
        "a worker starts while an agent sets its logging up",
        f"{AT} INFO Advertised URI: http://10.0.0.7:8083/ (o.RestServer:421)\n"
        f"{AT} INFO Kafka Connect worker initialization took 2051ms (o.AbstractConnectCli:144)",
        ({"kind": "worker_started", "worker": "10.0.0.7:8083"},),
    ),
)
