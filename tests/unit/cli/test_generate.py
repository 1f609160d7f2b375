"""What is generated is what the models say: the page of settings, and what the chart knows of them all."""

import json

import pytest

from cli.generate import chart, settings_page
from cli.generate.chart import OWN_VALUES, UNNAMED, definitions, files, names
from cli.generate.settings_page import PROCESSES
from deadwatch.runtime.settings import ProcessSettings
from deadwatch.runtime.settings_file import SHARED
from tests.paths import ROOT

PAGE = ROOT / "docs" / "configuration.md"
SCHEMA = ROOT / "helm" / "deadwatch" / "values.schema.json"
CONFIG = SCHEMA.parent / "templates" / "_config.tpl"

processes = pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.section)


def test_the_committed_schema_is_up_to_date() -> None:
    assert chart.page(SCHEMA.read_text()) == SCHEMA.read_text(), "run: make docs"


def test_the_committed_page_is_up_to_date() -> None:
    assert settings_page.page(PAGE.read_text()) == PAGE.read_text(), "run: make docs"


@processes
def test_every_setting_of_a_process_stands_on_the_page(process: type[ProcessSettings]) -> None:
    rows = PAGE.read_text().splitlines()
    assert all(any(row.startswith(f"| `{name}` |") for row in rows) for name in process.model_fields)


def test_a_page_without_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="has no line"):
        settings_page.page("# nothing")


def test_the_committed_dashboards_and_rules_are_up_to_date() -> None:
    place = SCHEMA.parent
    made = {place / name: text for name, text in files()}
    there = [*place.glob("files/dashboards/*"), place / "files" / "rules.yaml"]
    assert {path: path.read_text() for path in there} == made, "run: make docs"


@processes
def test_every_field_is_shared_set_by_the_chart_or_let_through(process: type[ProcessSettings]) -> None:
    passed = set(definitions()[process.section]["properties"])
    own = set(process.model_fields) & (set(OWN_VALUES) | SHARED)
    unnamed = {name.partition(".")[2] for name in UNNAMED if name.startswith(f"{process.section}.")}
    secret = set(names(process)) - passed - unnamed
    assert passed | own | unnamed | secret == set(process.model_fields)
    assert not passed & own


@processes
def test_what_the_chart_sets_itself_stands_in_its_configuration(process: type[ProcessSettings]) -> None:
    text = CONFIG.read_text().lower()
    own = (set(process.model_fields) & set(OWN_VALUES)) - {name for name, by in OWN_VALUES.items() if not by}
    assert {name for name in own if name not in text} == set()


def test_what_is_shared_is_said_once() -> None:
    shared = set(definitions()["shared"]["properties"])
    known = {name for process in PROCESSES for name in process.model_fields}
    assert shared == (SHARED & known) - set(OWN_VALUES)


def test_no_secret_is_let_through() -> None:
    assert "writeOnly" not in json.dumps(definitions())


def test_the_chart_sets_nothing_that_no_process_has() -> None:
    assert set(OWN_VALUES) - {name for process in PROCESSES for name in process.model_fields} == set()
