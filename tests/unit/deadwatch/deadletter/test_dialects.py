"""A dialect is a file: found by being there, read, and documented."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from deadwatch.deadletter.dialects.__main__ import write
from deadwatch.deadletter.dialects.dialect import TEXTS, Dialect, FromTopic
from tests.command_line import succeeded
from tests.paths import ROOT

DIALECT = """
from deadwatch.deadletter.dialects.dialect import Dialect

ORDERS = Dialect(name="orders", prefix="x-orders-", source_topic="x-orders-topic", error_class="x-exception")
"""
USE = """
import runpy, sys
from deadwatch.deadletter.record import parse_record
print(parse_record("dlq", 0, 0, 0, None, None, [("x-exception", b"Late"), ("x-orders-topic", b"orders")]))
sys.argv = ["dialects", "docs"]
runpy.run_module("deadwatch.deadletter.dialects", run_name="__main__")
"""


def test_a_new_dialect_is_one_file(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deadwatch", tmp_path / "deadwatch", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    for page in ("dialects.md", "filter.md"):
        shutil.copy(ROOT / "docs" / page, tmp_path / "docs")
    (tmp_path / "deadwatch/deadletter/dialects/orders.py").write_text(DIALECT)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shown = succeeded(sys.executable, "-c", USE, cwd=tmp_path, env=env)
    assert "dialect='orders', source_topic='orders'" in shown
    assert "error_class='Late'" in shown
    table = (tmp_path / "docs/dialects.md").read_text()
    assert "| `orders` | `x-orders-*`, `x-exception` | text |\n| `share_group` |" in table
    assert "connect, orders, share_group" in (tmp_path / "docs/filter.md").read_text()


def test_a_dialect_has_the_headers_of_its_prefix_or_else_those_that_it_names() -> None:
    named = Dialect(name="a", source_topic=("t", "u"), message="m", error_class="m", others=("o",))
    prefixed = Dialect(name="b", prefix=("p-", "q-"))
    assert (named.headers, prefixed.headers) == (("t", "u", "m", "o"), ())
    assert [header for header in (*"tumox", "p-t") if named.has(header)] == list(named.headers)
    assert [header for header in ("t", "p-t", "q-", "xp-") if prefixed.has(header)] == ["p-t", "q-"]


@pytest.mark.parametrize(
    ("made", "topic", "text"),
    [
        (FromTopic(topic="(.*)-dlq", value=r"\1"), "orders-dlq", "orders"),
        (FromTopic(topic="(.*)-dlq", value=r"\1"), "orders-dlq-2", ""),
        (FromTopic(topic="(a)|(.*)", value=r"x\1\2"), "bc", "xbc"),
    ],
)
def test_a_text_is_made_of_the_topics_whole_name(made: FromTopic, topic: str, text: str) -> None:
    assert made.of(topic) == text


def test_a_dialect_may_have_a_text_of_a_header_or_of_its_topics_name() -> None:
    dialect = Dialect(
        name="a", message="m", from_topic={"source_topic": FromTopic(topic="(.*)-dlq", value=r"\1")}
    )
    assert [text for text in TEXTS if dialect.may_have(text)] == ["source_topic", "message"]


def test_the_documentation_is_that_of_the_dialects(tmp_path: Path) -> None:
    pages = [ROOT / "docs" / page for page in ("dialects.md", "filter.md")]
    for page in pages:
        shutil.copy(page, tmp_path)
    write(tmp_path)
    assert [(tmp_path / page.name).read_text() for page in pages] == [page.read_text() for page in pages]
