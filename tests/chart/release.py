"""An installation of the chart, whose pods are plain processes of this machine."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from tests import metrics
from tests.chart.node import Node, Pod
from tests.chart.tools import Manifest, one, pods

WITHIN_S: Final = 240


@dataclass
class Release:
    """An installation: a node, its manifests, and the pods that run."""

    node: Node
    manifests: list[Manifest]
    stack: ExitStack
    pods: dict[str, Pod] = field(default_factory=dict)

    def start(self, *processes: str) -> None:
        for name, spec in pods(self.manifests):
            process = name.rpartition("-")[2]
            if process in processes:
                self.pods[process] = self.stack.enter_context(self.node.running(self.manifests, name, spec))
        for process in processes:
            self.pods[process].become("startup")
            self.pods[process].become("liveness")
            self.pods[process].become("readiness")
        if "api" in processes:
            self.node.services["http://dw-deadwatch-api:8000"] = self.pods["api"].url("http")

    def run(self, kind: str, suffix: str) -> str:
        """A hook's pod to its end; what it says."""
        manifest = one(self.manifests, kind, suffix)
        spec = manifest["spec"]["template"]["spec"] if kind == "Job" else manifest["spec"]
        with self.node.running(self.manifests, manifest["metadata"]["name"], spec) as pod:
            pod.process.wait(WITHIN_S)
            assert pod.process.returncode == 0, pod.tail()
            return pod.tail()

    def stop(self, *processes: str) -> dict[str, float]:
        """The seconds each took; every one ended by itself, within its grace period, with 0."""
        return {process: self.pods[process].terminate() for process in processes}

    def figure(self, name: str, **labels: str) -> int:
        return metrics.figure(self.pods["api"].url("http"), name, **labels)
