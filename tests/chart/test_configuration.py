"""What the chart renders, files and variables, is what the processes take."""

import os
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url

from cli.generate.settings_page import PROCESSES
from deadwatch.runtime.settings import ProcessSettings
from deadwatch.runtime.settings_file import load
from tests.chart.node import Node
from tests.chart.tools import CASES, MINIMAL, one, pods, rendered

SECRET = {"uri": "postgresql://u@h:1/d", "clusters.json": "[]", "token-pepper": "0" * 64}


class Anything(defaultdict[str, str]):
    """A Secret with every key."""

    def __missing__(self, key: str) -> str:
        return SECRET.get(key, "x")


def taken(
    case: Path, process: type[ProcessSettings], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> ProcessSettings | None:
    """The settings that the process's container comes to; None where the case does not run it as one."""
    manifests = rendered(case)
    found = [(name, spec) for name, spec in pods(manifests) if name.endswith(f"-{process.section}")]
    if not found:
        return None
    node = Node(directory, defaultdict(Anything))
    prepared = node.prepare(manifests, *found[0])
    for name in list(os.environ):
        if name.startswith(f"{process.section}_".upper()):
            monkeypatch.delenv(name)
    for name, value in prepared.environment.items():
        monkeypatch.setenv(name, value)
    return load(process, Path(prepared.command[-1]))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.section)
def test_a_process_takes_its_configuration(
    case: Path, process: type[ProcessSettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = taken(case, process, tmp_path, monkeypatch)
    if settings is None:
        assert case.stem in {"parts-values", "operator-values"}
        return
    assert settings.model_dump()["kafka"]["bootstrap_servers"].startswith("kafka")


def test_all_processes_agree_on_what_they_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secured = next(case for case in CASES if case.stem == "secured-values")
    found = [taken(secured, process, tmp_path, monkeypatch) for process in PROCESSES]
    for name in ("kafka_cluster", "dlq_topics", "dlq_topics_deny", "targets_allow", "store_url"):
        said = {str(getattr(settings, name)) for settings in found if hasattr(settings, name)}
        assert len(said) == 1, name


def test_no_process_keeps_the_default_of_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative one would be below the working directory, which is read-only."""
    for process in PROCESSES:
        settings = taken(MINIMAL, process, tmp_path, monkeypatch)
        assert settings is not None
        paths = [value for value in settings.model_dump().values() if isinstance(value, Path)]
        assert all(path.is_absolute() for path in paths)
        assert "deadwatch-data" not in str(getattr(settings, "store_url", ""))


def test_the_user_of_the_database_may_have_any_name() -> None:
    user = "dead watch+100%@/:é"
    database = {"kind": "postgresql", "postgresql": {"existingSecret": "pg", "host": "db", "username": user}}
    config = one(rendered(MINIMAL, values={"store": database}), "ConfigMap", "-api")["data"]["deadwatch.yaml"]
    assert make_url(yaml.safe_load(config)["store_url"]).username == user
