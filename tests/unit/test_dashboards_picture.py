"""Pictures: whatever labels hold, what is drawn is a picture."""

import json
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from dashboards import picture
from dashboards.boards import ALL
from dashboards.drawing import fitted, shown
from dashboards.frame import Board
from dashboards.picture import PictureError
from dashboards.picture_tables import CELL_CHAR, widths

AT = 1_800_000_000.0
HOSTILE = "<script>alert(1)</script>&'\"\u202e"


@contextmanager
def prometheus(answer: dict[str, Any]) -> Iterator[str]:
    """Answers every query with the same series, which has every label that the query groups by."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            by = re.match(r"(?:topk\(10, )?\w+ by \(([^)]*)\)", form["query"][0])
            metric = dict.fromkeys(by[1].split(", ") if by else (), HOSTILE)
            values = [[AT - 60, "1"], [AT, "2"]]
            series = {"metric": metric, "value": values[-1]}
            if self.path.endswith("query_range"):
                series = {"metric": metric, "values": values}
            told = answer or {"status": "success", "data": {"result": [series]}}
            text = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("board", ALL, ids=lambda board: str(board.uid))
def test_every_panel_is_drawn_and_no_label_breaks_out(board: Board) -> None:
    with prometheus({}) as url:
        svg = picture.draw(board, url, minutes=60, at=AT)
    root = ET.fromstring(svg)  # noqa: S314 - our own picture
    assert {element.tag.partition("}")[2] for element in root.iter()} <= {
        "svg",
        "g",
        "rect",
        "text",
        "polyline",
    }
    panels = [element for element in root.iter() if element.get("class") == "panel"]
    assert len(panels) == sum(len(row.panels) for row in board.rows)
    for element in root.iter():
        assert "nan" not in " ".join(element.attrib.values()).lower()


@pytest.mark.parametrize("board", ALL[:1], ids=lambda board: str(board.uid))
def test_nothing_is_said_where_nothing_is(board: Board) -> None:
    with prometheus({"status": "success", "data": {"result": []}}) as url:
        svg = picture.draw(board, url, minutes=60, at=AT)
    assert svg.count(">no data<") == 6
    assert svg.count(">nothing<") == 6


def test_a_query_that_is_refused_is_named() -> None:
    with (
        prometheus({"status": "error", "error": "parse error"}) as url,
        pytest.raises(PictureError, match="Dead letters waiting: parse error: sum"),
    ):
        picture.draw(ALL[0], url, minutes=60, at=AT)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (11.45, "short", "11"),
        (2_600, "short", "2.6 K"),
        (0.0, "s", "0 s"),
        (0.041, "s", "41 ms"),
        (90, "s", "1.5 min"),
        (172_800, "s", "2 d"),
        (0.5, "percentunit", "50 %"),
        (1_800_000_000_000, "dateTimeAsIso", "2027-01-15 08:00:00"),
    ],
)
def test_values_are_shown_in_their_unit(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_a_text_is_cut_to_its_room() -> None:
    assert fitted("short", 100) == "short"
    assert fitted("a-very-long-name-of-a-topic", 72, 12) == "a-very-lo…"


def test_a_long_column_is_cut_not_the_short_ones_beside_it() -> None:
    narrow, wide, heading = widths([7, 90, 8], 400)
    assert narrow >= 7 * CELL_CHAR
    assert heading >= 8 * CELL_CHAR
    assert narrow + wide + heading == pytest.approx(400)
    assert widths([1, 1], 400) == [200, 200]
