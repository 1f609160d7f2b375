"""The chart as real Helm renders it."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "helm" / "deadwatch"
CASES: Final = sorted((CHART / "ci").glob("*-values.yaml"))
CRDS: Final = Path(__file__).with_name("crds")
OPERATED: Final = tuple("/".join(file.stem.split("_")[:2]) for file in sorted(CRDS.glob("*.json")))
"""The groups of custom resources, as a cluster with every operator has them."""
MINIMAL: Final = CHART / "ci" / "minimal-values.yaml"

Manifest = dict[str, Any]


class MissingToolsError(Exception):
    """What the tools need is not on this machine."""


@cache
def directory() -> Path:
    """Where the tools are; the first call may build them."""
    script = ROOT / "tests" / "install_tools.sh"
    built = subprocess.run(["/bin/sh", script], capture_output=True, text=True, check=False)
    if built.returncode:
        raise MissingToolsError(built.stderr.strip())
    return Path(built.stdout.strip())


def tool(name: str) -> str:
    """The path of a program that tests/go-tools.txt names."""
    return str(next(path for path in directory().glob(f"{name}-v*")))


@cache
def helm(*arguments: str | Path, directory: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """What Helm answers, which is asked the same only once: neither chart nor values change meanwhile."""
    command = [tool("helm"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)


def template(
    *files: Path,
    values: Mapping[str, Any] | None = None,
    apis: Sequence[str] = (),
    more: Iterable[str | Path] = (),
    release: str = "dw",
    chart: Path = CHART,
) -> "subprocess.CompletedProcess[str]":
    """``helm template`` with value files, values and the APIs that the cluster has."""
    arguments: list[str | Path] = ["template", release, chart, "--namespace", "deadwatch", *more]
    for file in files:
        arguments += ["--values", file]
    for name, value in (values or {}).items():
        arguments += ["--set-json", f"{name}={json.dumps(value)}"]
    for api in apis:
        arguments += ["--api-versions", api]
    return helm(*arguments)


def rendered(*files: Path, **how: Any) -> list[Manifest]:  # noqa: ANN401 -- as ``template`` takes it
    """The manifests; a refusal is an error with Helm's words."""
    made = template(*files, **how)
    assert made.returncode == 0, made.stderr
    manifests = [one for one in yaml.load_all(made.stdout, Loader=yaml.CSafeLoader) if one]
    assert manifests, "nothing is rendered"
    return manifests


def next_version(directory: Path) -> Path:
    """The chart as the release after this one has it: of another version, with another image."""
    chart = directory / "deadwatch"
    shutil.copytree(CHART, chart)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    about |= {"version": "99.0.0", "appVersion": "99.0.0"}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    return chart


def one(manifests: Sequence[Manifest], kind: str, name: str) -> Manifest:
    """The manifest of that kind whose name ends so."""
    found = [m for m in manifests if m["kind"] == kind and m["metadata"]["name"].endswith(name)]
    assert len(found) == 1, [(m["kind"], m["metadata"]["name"]) for m in manifests]
    return found[0]


def pods(manifests: Sequence[Manifest]) -> list[tuple[str, Manifest]]:
    """Name and pod spec of everything that starts pods, Spark's driver and executors aside."""
    found = []
    for manifest in manifests:
        if manifest["kind"] == "Pod":
            found.append((manifest["metadata"]["name"], manifest["spec"]))
        elif manifest["kind"] in {"Deployment", "StatefulSet", "Job"}:
            found.append((manifest["metadata"]["name"], manifest["spec"]["template"]["spec"]))
    assert found, "nothing starts a pod"
    return found
