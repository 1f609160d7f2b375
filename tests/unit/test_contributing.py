"""What CONTRIBUTING.md and the architecture page send a newcomer to is there."""

import re

import pytest

from tests.paths import ROOT

PAGES = ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "docs/releases.md", "SECURITY.md")
TOP = frozenset(path.name for path in ROOT.iterdir())
PLACE = re.compile(r"`((?:[\w.]+/)+[\w.]*)`|\]\((?!https?:)([^)#]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    file = ROOT / page
    found = [
        (path, f"{file.parent}/{link}" if link else "") for path, link in PLACE.findall(file.read_text())
    ]
    named = [path or link for path, link in found if link or path.partition("/")[0] in TOP]
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing
    assert named or page == "docs/glossary.md"
