"""The page of settings is what the models say."""

import pytest
from pydantic import BaseModel

from cli.generate.settings_page import PROCESSES, page
from tests.paths import ROOT

PAGE = ROOT / "docs" / "configuration.md"


def test_the_committed_page_is_up_to_date() -> None:
    assert page(PAGE.read_text()) == PAGE.read_text(), "run: make docs"


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.section)
def test_every_setting_of_a_process_stands_on_the_page(process: type[BaseModel]) -> None:
    rows = PAGE.read_text().splitlines()
    assert all(any(row.startswith(f"| `{name}` |") for row in rows) for name in process.model_fields)


def test_a_page_without_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="has no line"):
        page("# nothing")
