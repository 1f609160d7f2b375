"""The page of operations says commands that work, as far as they go without a cluster."""

import re
import shlex
from pathlib import Path

import pytest

from tests.chart.tools import ROOT, helm, one, rendered

PAGE = (ROOT / "docs" / "operations.md").read_text()
VALUES = re.search(r"```yaml\n(# values.yaml\n.*?)```", PAGE, re.DOTALL)
HELM = re.findall(r"^\$ helm (.+)$", PAGE, re.MULTILINE)
NEEDS_A_CLUSTER = {"test", "uninstall", "rollback"}


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


def test_files_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"\b((?:docker|helm)/[\w./-]+\w)", PAGE))
    assert named
    assert {file for file in named if not (ROOT / file).exists()} <= {"docker/mine.yaml"}
