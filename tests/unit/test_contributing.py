"""What CONTRIBUTING.md and the architecture page send a newcomer to is there."""

import re

import pytest

from tests.paths import ROOT

PAGES = ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "docs/releases.md", "SECURITY.md")
DECISIONS = tuple(
    f"docs/decisions/{file.name}" for file in sorted((ROOT / "docs" / "decisions").glob("*.md"))
)
TOP = frozenset(path.name for path in ROOT.iterdir())
CODE = ("api", "benchmarks", "cli", "deadwatch", "jars", "lab", "streaming", "tests")
EXAMPLE = re.compile(r"see `(\w+\.py)` there")
DIRECTORY = re.compile(r"`((?:\w+/)+)`")
ROWS = [row for row in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if row.startswith("| ")][1:]
POSTGRESQL = {"docs/releases.md": r"PostgreSQL (\d+)", "docs/store.md": r"database of its own; version (\d+)"}
PLACE = re.compile(r"`((?:[\w.]+/)+[\w.]*)`|\]\((?!https?:)([^)#]+)\)")


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS])
def test_every_file_that_is_named_exists(page: str) -> None:
    file = ROOT / page
    found = [
        (path, f"{file.parent}/{link}" if link else "") for path, link in PLACE.findall(file.read_text())
    ]
    named = [path or link for path, link in found if link or path.partition("/")[0] in TOP]
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing
    assert named or page in {"docs/glossary.md", *DECISIONS}


def test_every_module_that_is_an_example_is_in_the_directory_named_before_it() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    examples = [DIRECTORY.findall(text[: found.start()])[-1] + found[1] for found in EXAMPLE.finditer(text)]
    assert len(examples) > 2
    assert [example for example in examples if not (ROOT / example).exists()] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_name_is_in_a_file_that_its_row_names(row: str) -> None:
    places = [ROOT / path for path, _ in PLACE.findall(row) if path and (ROOT / path).exists()]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*.py"))]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    assert set(re.findall(r"`([A-Za-z_]\w*)`", row)) <= words


def test_every_variable_that_a_page_names_is_one_that_something_reads() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    readers = [ROOT / "Makefile", ROOT / "docker" / "compose.yaml"]
    readers += [file for top in CODE for file in (ROOT / top).rglob("*.py")]
    named, read = (
        {name for file in files for name in re.findall(r"\bDEADWATCH_[A-Z_]+\b", file.read_text())}
        for files in (pages, readers)
    )
    assert named
    assert named <= read


def test_the_version_of_postgresql_is_the_same_on_every_page() -> None:
    versions = {re.findall(form, (ROOT / page).read_text())[0] for page, form in POSTGRESQL.items()}
    assert len(versions) == 1
