"""Every case of ``ci/`` is linted, rendered, and valid on the oldest and newest Kubernetes supported."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from tests.chart.tools import CASES, CHART, CRDS, MINIMAL, OPERATED, ROOT, helm, rendered, tool
from tests.command_line import ended

OLDEST, NEWEST = "1.30", "1.37"
GOLDEN = Path(__file__).with_name("golden")
IGNORED = {
    "container-image-pull-policy": "an image is named by version or digest",
    "deployment-has-host-podantiaffinity": "pods are spread by topologySpreadConstraints",
    "deployment-replicas": "SQLite is a file on one node",
    "container-ephemeral-storage-request-equals-limit": "logs need little, Spark's shuffle at times much",
}
"""What kube-score asks for and is not done, and why."""
IGNORED_IN = {
    "operator-values": "networkpolicy-targets-pod",  # Spark's operator makes the pods
    "parts-values": "pod-networkpolicy",  # the case without policies
}

cases = pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)


def strict(schema: Any) -> Any:  # noqa: ANN401 -- JSON
    """As the API server prunes: a field that the definition does not know is an error here."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("pattern"), str):  # Go takes flags anywhere, Python at the beginning
        made["pattern"] = schema["pattern"].replace("^(?i)", "(?i)^")
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    return made


@cache
def definition(version: str, kind: str) -> jsonschema.Draft202012Validator:
    """What knows the schema of a custom resource; to check the schema itself takes longer than its use."""
    schema = strict(json.loads((CRDS / f"{version.replace('/', '_')}_{kind}.json").read_text()))
    schema["properties"]["metadata"] = {"type": "object"}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@cases
def test_a_case_is_linted_strictly(case: Path) -> None:
    linted = helm("lint", "--strict", CHART, "--values", case)
    assert linted.returncode == 0, linted.stdout + linted.stderr


@cases
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_manifest_is_valid(case: Path, version: str) -> None:
    for manifest in rendered(case, apis=OPERATED, more=["--kube-version", version]):
        if manifest["apiVersion"] in OPERATED:
            definition(manifest["apiVersion"], manifest["kind"]).validate(manifest)
        else:
            kubernetes_validate.validate(manifest, version, strict=True)


def test_an_unknown_field_of_a_custom_resource_is_found() -> None:
    monitor = next(m for m in rendered(MINIMAL, apis=OPERATED) if m["kind"] == "ServiceMonitor")
    monitor["spec"]["endpoints"][0]["intervall"] = "1s"
    with pytest.raises(jsonschema.ValidationError, match="intervall"):
        definition(monitor["apiVersion"], monitor["kind"]).validate(monitor)


def test_an_older_kubernetes_is_refused() -> None:
    refused = helm("template", "dw", CHART, "--values", MINIMAL, "--kube-version", "1.29.0")
    assert refused.returncode != 0
    assert "kubeVersion: >=1.30.0-0" in refused.stderr


@cases
def test_nothing_of_an_operator_is_rendered_where_it_is_absent(case: Path) -> None:
    wanted = {"sparkoperator.k8s.io/v1beta2"} if "operator" in case.stem else set()
    assert {m["apiVersion"] for m in rendered(case)} & set(OPERATED) == wanted


def test_what_an_operator_reads_is_rendered_where_it_is_present() -> None:
    everything = next(case for case in CASES if case.stem.startswith("everything"))
    kinds = {m["kind"] for m in rendered(everything, apis=OPERATED)}
    assert {"ServiceMonitor", "PodMonitor", "HTTPRoute"} <= kinds


@cases
def test_a_linter_of_manifests_finds_nothing(case: Path, tmp_path: Path) -> None:
    text = helm("template", "dw", CHART, "--values", case).stdout
    file = tmp_path / "manifests.yaml"
    file.write_text(text)
    names = [*IGNORED, *filter(None, [IGNORED_IN.get(case.stem)])]
    ignored = [part for name in names for part in ("--ignore-test", name)]
    lines = ended(tool("kube-score"), "score", "--output-format", "ci", *ignored, file).stdout.splitlines()
    assert [line for line in lines if line.startswith(("[CRITICAL]", "[WARNING]"))] == []
    assert any(line.startswith("[OK]") for line in lines)


def test_the_minimal_installation_is_what_it_was() -> None:
    """A change of the chart is seen as a change of manifests; accept one by writing the file anew."""
    case, golden = MINIMAL.relative_to(ROOT), (GOLDEN / "minimal.yaml").relative_to(ROOT)
    command = ["template", "dw", str(CHART.relative_to(ROOT)), "--namespace=deadwatch", f"--values={case}"]
    command.append("--set=dashboards.configMaps.enabled=false")
    made = helm(*command, directory=ROOT).stdout
    assert (ROOT / golden).read_text() == made, f"helm {' '.join(command)} > {golden}"
