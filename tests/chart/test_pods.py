"""Every pod keeps the restricted Pod Security Standard, whatever the values; and what each is given."""

import json
import re
from pathlib import Path

import pytest

from tests.chart.tools import CASES, CHART, MINIMAL, OPERATED, ROOT, Manifest, helm, one, pods, rendered

cases = pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
PROCESSES = ("collector", "streaming", "redrive", "api")
VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def named(case: str) -> Path:
    return next(path for path in CASES if path.stem == f"{case}-values")


def violations(pod: Manifest) -> list[str]:
    """What the restricted standard (Kubernetes 1.30 to 1.37) forbids, and what this chart adds to it."""
    security = pod.get("securityContext", {})
    found = [name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    found += [f"volume {v['name']}" for v in pod["volumes"] if not set(v) - {"name"} <= VOLUMES]
    if security.get("seccompProfile", {}).get("type") not in {"RuntimeDefault", "Localhost"}:
        found.append("seccompProfile")
    if not security.get("runAsNonRoot") or security.get("runAsUser") == 0:
        found.append("runAsNonRoot")
    return found + [f"{c['name']}: {v}" for c in pod["containers"] for v in of_container(c)]


def of_container(container: Manifest) -> list[str]:
    security = container.get("securityContext", {})
    rules = {
        "allowPrivilegeEscalation": security.get("allowPrivilegeEscalation") is False,
        "privileged": not security.get("privileged"),
        "capabilities": security.get("capabilities", {}).get("drop") == ["ALL"]
        and not security["capabilities"].get("add"),
        "readOnlyRootFilesystem": security.get("readOnlyRootFilesystem") is True,
        "runAsUser": security.get("runAsUser") != 0,
        "hostPort": not any("hostPort" in port for port in container.get("ports", ())),
        "limits": {"cpu", "memory", "ephemeral-storage"} <= set(container["resources"]["limits"]),
        "requests": {"cpu", "memory", "ephemeral-storage"} <= set(container["resources"]["requests"]),
    }
    return [name for name, kept in rules.items() if not kept]


@cases
def test_every_pod_is_restricted(case: Path) -> None:
    found = {name: violations(pod) for name, pod in pods(rendered(case, apis=OPERATED))}
    assert not any(found.values()), found


def test_driver_and_executors_are_restricted_too() -> None:
    spark = one(rendered(named("operator"), apis=OPERATED), "SparkApplication", "streaming")["spec"]
    amounts = dict.fromkeys(("cpu", "memory", "ephemeral-storage"), "1")
    for role in ("driver", "executor"):
        container = spark[role] | {"name": role, "resources": {"limits": amounts, "requests": amounts}}
        as_pod = {"securityContext": spark[role]["podSecurityContext"], "volumes": spark["volumes"]}
        assert violations(as_pod | {"containers": [container]}) == []


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (
            "podSecurityContext",
            {"runAsNonRoot": True, "runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}},
        ),
        ("podSecurityContext", {"runAsNonRoot": True}),
        ("securityContext", {"allowPrivilegeEscalation": False}),
        ("api.extraVolumes", [{"name": "host", "hostPath": {"path": "/"}}]),
    ],
)
def test_the_table_finds_what_is_not_restricted(value: str, wrong: object) -> None:
    values = {value: None} | {value: wrong} if isinstance(wrong, dict) else {value: wrong}
    erased = {
        f"{value}.{name}": None for name in ("capabilities", "seccompProfile") if name not in str(wrong)
    }
    found = pods(rendered(MINIMAL, values=values | (erased if isinstance(wrong, dict) else {})))
    assert any(violations(pod) for _, pod in found)


@cases
def test_no_pod_has_a_token_or_variables_of_services(case: Path) -> None:
    """A service called ``collector`` would become a variable that no setting has."""
    for _, pod in pods(rendered(case)):
        assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)


def test_executors_have_no_token_and_share_no_mount_with_what_spark_adds() -> None:
    spark = one(rendered(named("operator")), "SparkApplication", "streaming")["spec"]
    assert (spark["driver"]["serviceAccount"], spark["executor"]["serviceAccount"]) == (
        "dw-deadwatch-spark",
        "dw-deadwatch",
    )
    assert {"spark.authenticate", "spark.network.crypto.enabled"} <= set(spark["sparkConf"])
    assert "spark.local.dir" not in spark["sparkConf"]  # Spark mounts a volume there, /tmp is one of ours


def test_only_a_driver_has_an_account_with_a_token() -> None:
    accounts = [m for m in rendered(named("operator")) if m["kind"] == "ServiceAccount"]
    assert {m["metadata"]["name"]: m["automountServiceAccountToken"] for m in accounts} == {
        "dw-deadwatch": False,
        "dw-deadwatch-spark": True,
    }


@cases
def test_secrets_are_named_never_rendered(case: Path) -> None:
    manifests = rendered(case, apis=OPERATED)
    assert not [m for m in manifests if m["kind"] == "Secret"]
    variables = [v for _, pod in pods(manifests) for c in pod["containers"] for v in c.get("env", ())]
    assert variables
    for variable in variables:
        if re.search("PASSWORD|PEPPER|SECRET|TOKEN|USERNAME", variable["name"]):
            assert "secretKeyRef" in variable["valueFrom"]


@pytest.mark.parametrize("process", PROCESSES)
def test_a_changed_setting_starts_its_own_pods_anew(process: str) -> None:
    def sums(values: dict[str, object]) -> dict[str, str]:
        found = rendered(MINIMAL, values=values)
        workloads = [m for m in found if m["kind"] in {"Deployment", "StatefulSet"}]
        return {
            m["metadata"]["name"].rpartition("-")[2]: m["spec"]["template"]["metadata"]["annotations"][
                "checksum/config"
            ]
            for m in workloads
        }

    setting = {"api": "source_stale_ms"}.get(process, "retry_backoff_max_ms")
    before, after = sums({}), sums({f"{process}.settings": {setting: 20_000}})
    assert {name for name in before if before[name] != after[name]} == {process}


def test_pods_that_share_a_file_share_a_node() -> None:
    manifests = rendered(MINIMAL)
    for process in ("streaming", "redrive", "api"):
        pod = one(manifests, "Deployment", process)["spec"]["template"]
        (term,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert term["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    collector = one(manifests, "StatefulSet", "collector")["spec"]["template"]["spec"]
    assert "affinity" not in collector


@cases
def test_what_has_to_last_is_never_in_an_empty_directory(case: Path) -> None:
    volumes = [(name, volume) for name, pod in pods(rendered(case)) for volume in pod["volumes"]]
    lasting = [(name, volume) for name, volume in volumes if volume["name"] in {"data", "store"}]
    assert lasting
    for name, volume in lasting:
        assert "persistentVolumeClaim" in volume, name


def test_streaming_is_replaced_never_doubled() -> None:
    streaming = one(rendered(MINIMAL), "Deployment", "streaming")["spec"]
    assert (streaming["replicas"], streaming["strategy"]) == (1, {"type": "Recreate"})


@cases
def test_every_process_runs_under_the_images_init(case: Path) -> None:
    """A container's first process is given no SIGTERM that it does not handle yet, and all orphans."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    entrypoint = json.loads(dockerfile.partition("\nENTRYPOINT ")[2].partition("\n")[0])
    for name, pod in pods(rendered(case)):
        assert pod["containers"][0]["command"][:1] == entrypoint, name


def test_a_collector_that_never_became_ready_is_replaced_by_an_upgrade() -> None:
    """With the default, OrderedReady, Kubernetes waits for such a pod for ever (kubernetes#67250)."""
    collector = one(rendered(MINIMAL), "StatefulSet", "collector")["spec"]
    assert (collector["replicas"], collector["podManagementPolicy"]) == (1, "Parallel")


def test_volumes_outlive_the_release() -> None:
    claims = [m for m in rendered(MINIMAL) if m["kind"] == "PersistentVolumeClaim"]
    assert {m["metadata"]["name"].rpartition("-")[2] for m in claims} == {"collector", "streaming", "store"}
    assert {m["metadata"]["annotations"]["helm.sh/resource-policy"] for m in claims} == {"keep"}


def test_a_collector_alone_has_no_claim_of_a_store() -> None:
    values = {f"{process}.enabled": False for process in ("streaming", "redrive", "api")}
    claims = [m for m in rendered(MINIMAL, values=values) if m["kind"] == "PersistentVolumeClaim"]
    assert [m["metadata"]["name"] for m in claims] == ["dw-deadwatch-collector"]


def test_a_probe_that_is_null_is_left_out() -> None:
    for _, pod in pods(rendered(MINIMAL, values={"probes.startup": None, "tests.enabled": False})):
        assert {name for name in pod["containers"][0] if name.endswith("Probe")} == {
            "livenessProbe",
            "readinessProbe",
        }


def test_the_store_is_upgraded_before_anything_of_the_release_exists() -> None:
    manifests = rendered(named("postgresql"))
    job = one(manifests, "Job", "store-upgrade")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    pod = job["spec"]["template"]["spec"]
    ours = {m["metadata"]["name"] for m in manifests if m["kind"] in {"ConfigMap", "PersistentVolumeClaim"}}
    assert not ours & set(re.findall(r"'name': '([^']*)'", str(pod["volumes"])))
    assert "serviceAccountName" not in pod


def notes(*more: str) -> str:
    """What is said after an installation."""
    said = helm("install", "dw", CHART, "--values", MINIMAL, "--dry-run=client", "--namespace", "d", *more)
    assert said.returncode == 0, said.stderr
    return said.stdout.partition("NOTES:")[2]


def test_notes_say_the_next_commands() -> None:
    said = notes()
    assert re.findall(r"^\d\. ", said, re.MULTILINE) == ["1. ", "2. ", "3. ", "4. "]
    for command in ("helm test dw --namespace d", "kubectl --namespace d port-forward"):
        assert command in said
    assert "no ServiceMonitor, PodMonitor or PrometheusRule was made. Let your Prometheus\nread http" in said
    without = notes("--set", "api.enabled=false")
    assert "no ServiceMonitor, PodMonitor or PrometheusRule was made.\n" in without
    assert not re.search(r"api|helm test|curl", without)


def test_notes_read_with_a_token_where_reading_needs_one() -> None:
    """The one that they tell how to make, as docs/operations.md does; else the answer would be 401."""
    made = r"exec deploy/(?:dw-)?deadwatch-api -- (deadwatch token create .*--config [\w/.]+)"
    page = re.sub(r"\\\n +", "", (ROOT / "docs" / "operations.md").read_text())
    with_token = 'curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8000/api/v1/overview'
    assert re.findall(made, notes()) == re.findall(made, page)
    assert with_token in notes()
    provider = (
        "--set",
        "api.auth.existingSecret=,api.settings.oidc.issuer=https://idp,api.settings.oidc.audience=a",
    )
    assert with_token in notes(*provider)
    assert "token create" not in notes(*provider)
    reads = notes("--set", "api.auth.anonymous=reads")
    assert "   curl http://127.0.0.1:8000/api/v1/overview" in reads
    assert "token" not in reads


def test_the_name_of_a_long_release_still_fits() -> None:
    manifests = rendered(MINIMAL, values={"fullnameOverride": "a" * 60})
    names = [m["metadata"]["name"] for m in manifests if m["kind"] != "ConfigMap"]  # those may be longer
    assert max(map(len, names)) <= 63
    values = [value for m in manifests for value in m["metadata"]["labels"].values()]
    assert max(map(len, values)) <= 63
