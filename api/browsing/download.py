"""Records as a file, written while they are read: JSON Lines, or CSV that no spreadsheet takes for formulas.

What could not be told before the file began ends it with a last line: of JSON Lines an object with ``next``
or ``problem``, of CSV a row whose first cell begins with ``#``.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Final

from api.browsing.browser import Found
from api.errors import ApiError
from api.record_schemas import DeadLetterRecord, Payload
from api.records import Presentation
from streaming.redrive.errors import RedriveError

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a cell must not begin with (OWASP, CSV injection)."""
PLACE: Final = (
    *("topic", "partition", "offset", "timestamp", "dialect", "source_topic", "source_partition"),
    *("source_offset", "consumergroup", "connector", "error_class", "message", "fingerprint", "attempts"),
)
PAYLOADS: Final = ("key", "value")
COLUMNS: Final = (*PLACE, *(f"{one}{of}" for one in PAYLOADS for of in ("", "_format", "_bytes")), "headers")

Pages = Callable[[str | None, int], Found | None]


class File(StrEnum):
    """Kinds of files."""

    JSONL = "jsonl"
    CSV = "csv"

    @property
    def media_type(self) -> str:
        """For the answer's header."""
        return "text/csv; charset=utf-8" if self is File.CSV else "application/jsonl"


def lines(file: File, shows: Presentation, first: Found | None, pages: Pages) -> Iterator[str]:
    """The file, piece by piece; a piece holds one page."""
    row, last = (_csv_row, _csv_last) if file is File.CSV else (_json_row, _json_last)
    if file is File.CSV:
        yield _cells(COLUMNS)
    found, written, after = first, 0, ""
    try:
        while found is not None:
            yield "".join(row(shows.record(letter)) for letter in found.letters)
            written += len(found.letters)
            if found.next is None:
                return
            after = found.next
            found = pages(after, written)
            if found is None:
                yield last("next", after)
    except (ApiError, RedriveError) as error:
        yield last("problem", f"{error}; go on with after={after}")


def _json_row(record: DeadLetterRecord) -> str:
    return record.model_dump_json() + "\n"


def _json_last(name: str, text: str) -> str:
    return json.dumps({name: text}) + "\n"


def _csv_last(name: str, text: str) -> str:
    return _cells([f"# {name}: {text}"])


def _csv_row(record: DeadLetterRecord) -> str:
    told = record.model_dump(mode="json", include=set(PLACE))
    cells = [told[name] for name in PLACE]
    for payload in (record.key, record.value):
        cells += [_content(payload), payload.format, payload.size_bytes]
    headers = {one.name: one.value.content for one in record.headers}
    return _cells([*cells, json.dumps(headers, ensure_ascii=False)])


def _content(payload: Payload) -> str:
    content = payload.content
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _cells(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow([_harmless(cell) for cell in cells])
    return line.getvalue()


def _harmless(cell: object) -> object:
    """A text that a spreadsheet takes for one."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
