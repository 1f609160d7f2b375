"""A node that runs a chart's pods as plain processes: commands, variables, files and probes as rendered.

A volume is a directory, and a mount path stands for it wherever it is said. What a pod has of its own (its
address, its ports) is this machine's loopback and free ports.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from lab.ports import LOOPBACK, free_port
from tests import http
from tests.chart.tools import ROOT, Manifest
from tests.command_line import succeeded
from tests.waiting import until

Secrets = Mapping[str, Mapping[str, str]]

READY_WITHIN_S: Final = 300
ENTRYPOINT: Final = "/opt/deadwatch/bin/entrypoint"
"""The image's init, which every command begins with; a process of this machine needs none."""
PROGRAMS: Final = {"python": [sys.executable], "deadwatch": [sys.executable, "-m", "cli"]}
LISTENS: Final = {"api": ("API_PORT", "API_HOST"), "redrive": ("REDRIVE_HEALTH__PORT",)}
"""The variables of a process's port and, where it is not the pod's own, its address."""


@dataclass
class Pod:
    """A container's process."""

    name: str
    spec: Manifest
    process: "subprocess.Popen[bytes]"
    prepared: "Prepared"
    log: Path
    workdir: Path

    def execute(self, *command: str) -> str:
        """What a command prints that is run beside the process, as ``kubectl exec`` does."""
        program = PROGRAMS[command[0]]
        return succeeded(*program, *command[1:], env=self.prepared.environment, cwd=self.workdir)

    @property
    def container(self) -> Manifest:
        container: Manifest = self.spec["containers"][0]
        return container

    def url(self, port: str) -> str:
        return f"http://{LOOPBACK}:{self.prepared.ports[port]}"

    def probe(self, kind: str) -> bool:
        """Whether a probe of the manifest is answered as a kubelet wants it."""
        get = self.container[f"{kind}Probe"]["httpGet"]
        try:
            answer = http.get(self.url(get["port"]) + get["path"], timeout=5)
        except httpx2.TransportError:
            return False
        return 200 <= answer.status_code < 400

    def become(self, kind: str, within_s: float = READY_WITHIN_S) -> None:
        until(
            lambda: self.process.poll() is not None or self.probe(kind),
            lambda: f"{kind} of {self.name}: {self.tail()}",
            within_s,
        )
        assert self.process.poll() is None, self.tail()

    def terminate(self) -> float:
        """SIGTERM as a kubelet sends it; the seconds until its end, which was in its grace period."""
        began_s = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(self.spec["terminationGracePeriodSeconds"])
        assert self.process.returncode == 0, self.tail()
        return time.monotonic() - began_s

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-25:])


@dataclass(frozen=True)
class Prepared:
    """What a pod is about to run."""

    home: Path
    command: list[str]
    environment: dict[str, str]
    ports: dict[str, int]


@dataclass
class Node:
    """Volumes stay from pod to pod, as claims do; ``services`` are names of services and where they are."""

    directory: Path
    secrets: Secrets
    services: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def running(self, manifests: Sequence[Manifest], name: str, spec: Manifest) -> Iterator[Pod]:
        """The pod's first container, killed at the end unless it has ended."""
        pod = self.start(manifests, name, spec)
        try:
            yield pod
        finally:
            pod.process.kill()
            pod.process.wait()
            left = [path.name for path in pod.workdir.iterdir()]
            assert not left, f"{name} wrote where its file system is read-only: {left}"

    def prepare(self, manifests: Sequence[Manifest], name: str, spec: Manifest) -> Prepared:
        """Its files are there; nothing runs."""
        container = spec["containers"][0]
        home = self.directory / f"{name}-{time.monotonic_ns()}"
        mounts = self._mounts(home, spec, container, manifests)
        ports = {port["name"]: free_port() for port in container.get("ports", ())}
        environment = self._environment(container, mounts, ports)
        words: list[str] = container["command"] + container.get("args", [])
        assert words[0] == ENTRYPOINT
        command = [*PROGRAMS[words[1]], *words[2:]]
        return Prepared(home, [self._placed(part, mounts) for part in command], environment, ports)

    def start(self, manifests: Sequence[Manifest], name: str, spec: Manifest) -> Pod:
        prepared = self.prepare(manifests, name, spec)
        workdir = prepared.home / "workdir"
        workdir.mkdir()
        log = prepared.home / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                prepared.command,
                env=prepared.environment,
                cwd=workdir,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return Pod(name, spec, process, prepared, log, workdir)

    def _mounts(
        self, home: Path, spec: Manifest, container: Manifest, manifests: Sequence[Manifest]
    ) -> dict[str, Path]:
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        mounts = {}
        for mount in container["volumeMounts"]:
            at = self._volume(home, volumes[mount["name"]], manifests)
            at.mkdir(parents=True, exist_ok=True)
            mounts[mount["mountPath"]] = at
        for file in (f for at in mounts.values() for f in at.glob("deadwatch.yaml")):
            file.write_text(self._placed(file.read_text(), mounts))
        return mounts

    def _volume(self, home: Path, volume: Manifest, manifests: Sequence[Manifest]) -> Path:
        if "persistentVolumeClaim" in volume:
            return self.directory / "claims" / str(volume["persistentVolumeClaim"]["claimName"])
        at = home / str(volume["name"])
        at.mkdir(parents=True)
        if "configMap" in volume:
            maps = (m for m in manifests if m["kind"] == "ConfigMap")
            data = next(m["data"] for m in maps if m["metadata"]["name"] == volume["configMap"]["name"])
            for name, text in data.items():
                (at / name).write_text(text)
        for item in volume.get("secret", {}).get("items", ()):
            (at / item["path"]).write_text(self.secrets[volume["secret"]["secretName"]][item["key"]])
        return at

    def _environment(
        self, container: Manifest, mounts: Mapping[str, Path], ports: Mapping[str, int]
    ) -> dict[str, str]:
        kept = ("PATH", "HOME", "JAVA_HOME", "JDK_JAVA_OPTIONS")
        machine = {name: os.environ[name] for name in kept if name in os.environ}
        machine |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(mounts["/tmp"])}
        said = {v["name"]: self._placed(self._value(v), mounts) for v in container.get("env", ())}
        module = container["command"][-1]
        if ports:
            prefix = module.upper()
            port, *host = LISTENS.get(module, (f"{prefix}_HEALTH__PORT",))
            said |= {port: str(next(iter(ports.values())))} | dict.fromkeys(host, LOOPBACK)
        if "spark" in ports:
            said["STREAMING_UI_PORT"] = str(ports["spark"])
        return machine | said

    def _value(self, variable: Mapping[str, Any]) -> str:
        if "value" in variable:
            return str(variable["value"])
        if "fieldRef" in variable["valueFrom"]:
            assert variable["valueFrom"]["fieldRef"] == {"fieldPath": "status.podIP"}
            return LOOPBACK
        at = variable["valueFrom"]["secretKeyRef"]
        return self.secrets[at["name"]][at["key"]]

    def _placed(self, text: str, mounts: Mapping[str, Path]) -> str:
        """Paths of mounts and addresses of services as they are on this machine, the longest first."""
        places = {path: str(at) for path, at in mounts.items()} | self.services
        for name in sorted(places, key=len, reverse=True):
            if name != "/tmp":  # every path here is below it
                text = text.replace(name, places[name])
        return text
