"""An upgrade changes in place: what Kubernetes never lets change, and what volumes are found by, stays."""

from pathlib import Path
from typing import Any

import pytest

from tests.chart.tools import CASES, MINIMAL, OPERATED, Manifest, next_version, one, pods, rendered

IMMUTABLE: dict[str, tuple[str, ...]] = {
    "Deployment": ("selector",),
    "StatefulSet": ("selector", "serviceName", "volumeClaimTemplates", "podManagementPolicy"),
    "PersistentVolumeClaim": ("accessModes", "resources", "storageClassName", "volumeName", "volumeMode"),
    "Service": ("clusterIP", "type", "selector", "ports"),
    "PodDisruptionBudget": ("selector",),
}
"""Fields of ``spec`` that an API server refuses to change, and those by which others find a service."""
Key = tuple[str, str]


def kept(manifests: list[Manifest]) -> dict[Key, dict[str, Any]]:
    """Every object of a release, hooks aside, with what has to stay."""
    found = {}
    for manifest in manifests:
        if "helm.sh/hook" in manifest["metadata"].get("annotations", {}):
            continue
        spec = manifest.get("spec", {})
        stays = {name: spec.get(name) for name in IMMUTABLE.get(manifest["kind"], ())}
        if manifest["kind"] == "RoleBinding":
            stays["roleRef"] = manifest["roleRef"]
        found[manifest["kind"], manifest["metadata"]["name"]] = stays
    return found


def images(manifests: list[Manifest]) -> set[str]:
    return {container["image"] for _, spec in pods(manifests) for container in spec["containers"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_next_version_changes_nothing_that_may_not_change(case: Path, tmp_path: Path) -> None:
    before = rendered(case, apis=OPERATED)
    after = rendered(case, apis=OPERATED, chart=next_version(tmp_path))
    assert kept(before) == kept(after)
    assert all(image.endswith(":99.0.0") or "@sha256:" in image for image in images(after))


@pytest.mark.parametrize(
    "changed",
    [
        {"settings": {"events_topic": "other"}},
        {"streaming.resources": {"requests": {"cpu": "4"}}},
        {"streaming.podLabels": {"team": "kafka"}, "commonLabels": {"team": "kafka"}},
        {"image.tag": "99"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_other_values_change_nothing_that_may_not_change(changed: dict[str, Any]) -> None:
    assert kept(rendered(MINIMAL)) == kept(rendered(MINIMAL, values=changed))


def test_another_mode_of_spark_changes_no_claim() -> None:
    """How a claim is mounted may not change, and the one before is kept: the other mode has its own."""
    values = {"store.kind": "postgresql", "store.postgresql": {"existingSecret": "pg", "host": "db"}}
    operated = rendered(MINIMAL, values=values | {"streaming.spark.mode": "operator"})
    before, after = kept(rendered(MINIMAL, values=values)), kept(operated)
    both = before.keys() & after.keys()
    assert {key: before[key] for key in both} == {key: after[key] for key in both}
    volumes = one(operated, "SparkApplication", "streaming")["spec"]["volumes"]
    (claim,) = [v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v]
    assert ("PersistentVolumeClaim", claim) in after.keys() - before.keys()


def test_a_hook_that_runs_again_takes_the_place_of_the_one_before() -> None:
    annotated = [(m["metadata"]["name"], m["metadata"].get("annotations", {})) for m in all_manifests()]
    hooks = [(name, annotations) for name, annotations in annotated if "helm.sh/hook" in annotations]
    assert hooks
    for name, annotations in hooks:
        assert "before-hook-creation" in annotations.get("helm.sh/hook-delete-policy", ""), name


def all_manifests() -> list[Manifest]:
    return [manifest for case in CASES for manifest in rendered(case)]
