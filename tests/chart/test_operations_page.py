"""The page of operations says commands that work, as far as they go without a cluster."""

import re
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.chart.tools import CHART, MINIMAL, ROOT, Manifest, helm, one, rendered

PAGE = (ROOT / "docs" / "operations.md").read_text()
STORE = (ROOT / "docs" / "store.md").read_text()
VALUES = re.search(r"```yaml\n(# values.yaml\n.*?)```", PAGE, re.DOTALL)
HELM = re.findall(r"^\$ helm (.+)$", PAGE, re.MULTILINE)
NEEDS_A_CLUSTER = {"test", "uninstall", "rollback"}
KUBERNETES = "1.37"
SAME = ("image", "resources", "securityContext")
"""What a container has that works in the place of one of the chart's."""
PEPPER = re.search(r"^\$ (.+>docker/\.env\))$", PAGE, re.MULTILINE)
INSTALLED = re.findall(r"^\$ (install -m [^#\n]*[^#\s])", PAGE, re.MULTILINE)
PASSWORDS = re.search(r"^\$ (.+>docker/passwords\.env\))", PAGE, re.MULTILINE)
MADE = {"docker/.env", "docker/mine.yaml", "docker/passwords.env"}
"""What an operator makes beside the compose file."""
SCALED = re.compile(r"^\$ kubectl -n deadwatch scale (.+) --replicas=(\d+)$", re.MULTILINE)


@pytest.fixture
def values(tmp_path: Path) -> Path:
    assert VALUES, "the page shows no values.yaml"
    file = tmp_path / "values.yaml"
    file.write_text(VALUES[1])
    return file


def test_the_page_tells_the_whole_life_of_a_release() -> None:
    assert {line.split()[0] for line in HELM} >= {"install", "test", "upgrade", "uninstall"}


@pytest.mark.parametrize("line", [line for line in HELM if line.split()[0] not in NEEDS_A_CLUSTER])
def test_a_command_is_taken_with_the_values_of_the_page(line: str, values: Path) -> None:
    words = [str(values) if word == "values.yaml" else word for word in shlex.split(line)]
    if words[0] == "upgrade":
        words[0] = "template"  # an upgrade asks a cluster even for a dry run
    done = helm(*words, *(["--dry-run=client"] if words[0] == "install" else []), directory=ROOT)
    assert done.returncode == 0, done.stderr


def test_objects_that_commands_name_are_those_of_the_chart(values: Path) -> None:
    manifests = rendered(values, release="deadwatch")
    named = re.findall(r"\b(deploy|deployment|service)/(deadwatch-\w+)", PAGE)
    assert named
    for kind, name in named:
        assert (
            one(manifests, {"service": "Service"}.get(kind, "Deployment"), name)["metadata"]["name"] == name
        )


def shown(page: str, kind: str) -> Manifest:
    """The manifest of that kind that a page shows."""
    found = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    (manifest,) = [one for one in found if one.get("kind") == kind]
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    return dict(manifest)


def mounted(pod: Manifest) -> dict[str, Manifest]:
    """The volumes of a pod by where they are mounted in its first container."""
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    return {mount["mountPath"]: volumes[mount["name"]] for mount in pod["containers"][0]["volumeMounts"]}


def test_who_is_told_to_scale_down_is_told_to_scale_up_again() -> None:
    """By the same program: Helm 4 refuses to change a number of replicas that kubectl has set."""
    told: dict[str, list[int]] = {}
    for names, replicas in SCALED.findall(PAGE):
        for name in names.split():
            told.setdefault(name, []).append(int(replicas))
    assert told
    assert {name: numbers for name, numbers in told.items() if numbers != [0, 1]} == {}


def test_the_pod_that_restores_a_store_has_the_store_and_the_rights_of_the_charts() -> None:
    manifests = rendered(
        MINIMAL, values={"image.repository": "registry.example/deadwatch"}, release="deadwatch"
    )
    streaming = one(manifests, "Deployment", "streaming")["spec"]["template"]["spec"]
    pod = shown(PAGE, "Pod")["spec"]
    ours, theirs = pod["containers"][0], streaming["containers"][0]
    for name in ("securityContext", "automountServiceAccountToken", "enableServiceLinks"):
        assert pod[name] == streaming[name]
    assert (ours["image"], ours["securityContext"]) == (theirs["image"], theirs["securityContext"])
    store = "/var/lib/deadwatch/store"
    assert mounted(pod)[store] == mounted(streaming)[store]
    configured = yaml.safe_load(one(manifests, "ConfigMap", "streaming")["data"]["deadwatch.yaml"])
    assert ours["env"] == [{"name": "STREAMING_STORE_URL", "value": configured["store_url"]}]


def job(kind: str) -> Manifest:
    """The Job of docs/store.md as it says to take it for a kind of store."""
    if kind == "postgresql":
        return shown(STORE, "Job")
    return shown(
        re.sub(r"^.* # postgresql\n", "", STORE, flags=re.MULTILINE).replace("# sqlite: ", ""), "Job"
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_job_that_counts_anew_has_what_the_charts_streaming_has(kind: str, values: Path) -> None:
    """But a volume of its own for the second store, as large as the chart's first one."""
    image = {"image.repository": "registry.example/deadwatch"}
    manifests = rendered(MINIMAL if kind == "sqlite" else values, values=image, release="deadwatch")
    streaming = one(manifests, "Deployment", "streaming")["spec"]["template"]["spec"]
    pod = job(kind)["spec"]["template"]["spec"]
    ours, theirs = pod["containers"][0], streaming["containers"][0]
    for name in ("serviceAccountName", "automountServiceAccountToken", "enableServiceLinks"):
        assert pod[name] == streaming[name]
    assert (pod["securityContext"], pod.get("affinity")) == (
        streaming["securityContext"],
        streaming.get("affinity"),
    )
    assert {name: ours[name] for name in SAME} == {name: theirs[name] for name in SAME}
    assert ours["args"][-2:] == theirs["args"]
    assert ours.get("env", []) == [each for each in theirs["env"] if each["name"] != "STREAMING_HEALTH__HOST"]
    volumes, data = mounted(pod), "/var/lib/deadwatch/streaming"
    assert volumes == mounted(streaming) | {data: volumes[data]}
    size = yaml.safe_load((CHART / "values.yaml").read_text())["store"]["sqlite"]["size"]
    assert (
        volumes[data]["ephemeral"]["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"] == size
    )


def test_the_pepper_of_compose_is_kept_for_its_owner(tmp_path: Path) -> None:
    assert PEPPER, "the page does not say where the pepper is kept"
    (tmp_path / "docker").mkdir()
    kept = tmp_path / "docker" / ".env"
    subprocess.run(["/bin/sh", "-c", PEPPER[1]], cwd=tmp_path, check=True)
    said = dict(line.split("=") for line in kept.read_text().splitlines())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert re.fullmatch("[0-9a-f]{64}", said["DEADWATCH_TOKEN_PEPPER"])
    compose = (ROOT / "docker" / "compose.yaml").read_text()
    assert set(said) >= set(re.findall(r"\$\{(\w+):\?", compose))
    assert PEPPER[1] in compose


@pytest.mark.parametrize("umask", ["077", "022"])
def test_the_containers_user_may_read_the_settings_and_only_their_owner_the_passwords(
    umask: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "docker", tmp_path / "docker", ignore=lambda *_: MADE)
    assert PASSWORDS
    for line in (*INSTALLED, PASSWORDS[1]):
        subprocess.run(["/bin/sh", "-c", f"umask {umask}; {line}"], cwd=tmp_path, check=True)
    made = {name: tmp_path / name for name in MADE - {"docker/.env"}}
    modes = {name: stat.S_IMODE(file.stat().st_mode) for name, file in made.items()}
    assert modes == {"docker/mine.yaml": 0o644, "docker/passwords.env": 0o600}
    assert INSTALLED[0] in (ROOT / "docker" / "compose.yaml").read_text()


@pytest.mark.parametrize(("line", "file"), [(PEPPER, ".env"), (PASSWORDS, "passwords.env")])
def test_what_is_there_stays(line: re.Match[str] | None, file: str, tmp_path: Path) -> None:
    assert line, "the page does not say how it is made"
    kept = tmp_path / "docker" / file
    kept.parent.mkdir()
    kept.write_text("s3cret")
    again = subprocess.run(["/bin/sh", "-c", line[1]], cwd=tmp_path, capture_output=True, check=False)
    assert again.returncode != 0
    assert kept.read_text() == "s3cret"


def test_what_compose_is_told_is_in_no_commit_and_in_no_image() -> None:
    ignored = {".env", "docker/mine.yaml", "docker/passwords.env"}
    assert ignored <= set((ROOT / ".gitignore").read_text().splitlines())
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    for name in MADE:
        assert lines.index(name) > lines.index("!docker")  # the last line that matches counts


def test_files_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"\b((?:docker|helm)/[\w./-]+\w)", PAGE))
    assert named
    assert {file for file in named if not (ROOT / file).exists()} <= MADE
