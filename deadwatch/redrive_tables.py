"""Redrives and dead letters as tables for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from collector.printed import one_line

Answer = Mapping[str, Any]

COPIED: Final = frozenset({"id", "fingerprint"})
"""Columns that are never broken: people copy from them."""
COLOURS: Final = {
    **dict.fromkeys(("RUNNING", "enabled", "valid"), "green"),
    **dict.fromkeys(("PAUSED", "CANCELLING", "disabled", "expired"), "yellow"),
    **dict.fromkeys(("FAILED", "revoked"), "red"),
    **dict.fromkeys(("CANCELLED",), "dim"),
}
"""Of cells that say how something is; a terminal without colours, or NO_COLOR, shows none."""


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table; numbers stand at the right, nothing is taken for markup."""
    made = Table(title=Text(title), title_justify="left")
    filled = [tuple("" if cell is None else cell for cell in row) for row in rows]
    for index, heading in enumerate(headings):
        numeric = bool(filled) and all(isinstance(row[index], int | float) for row in filled)
        made.add_column(
            heading,
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=heading in COPIED,
        )
    for row in filled:
        made.add_row(*(Text(_cell(cell), COLOURS.get(str(cell), "")) for cell in row))
    return made


def plan(told: Answer) -> Table:
    """What a dry run has shown."""
    shown = told["plan"]
    least = "at least " if shown["at_least"] else ""
    rows: list[tuple[str, object]] = [
        ("read", f"{least}{shown['read']}"),
        ("would be moved", f"{least}{shown['to_move']}"),
        *((f"  to {topic}", count) for topic, count in shown["targets"].items()),
    ]
    if shown["rehydrated"]:
        rows.append(("  payload read at the origin", shown["rehydrated"]))
    if shown["to_park"]:
        rows.append(("would be parked: attempts used up", shown["to_park"]))
    rows += [(f"would be skipped: {reason}", count) for reason, count in shown["skip_reasons"].items()]
    rows += [(f"filter: {problem}", count) for problem, count in shown["filter_problems"].items()]
    if shown["estimated_ms"] is not None:
        rows.append(("takes", f"{least}{duration(shown['estimated_ms'])}"))
    rows += [("warning", warning) for warning in shown["warnings"]]
    return table(f"Dry run on {told['dlq_topic']}", ("", ""), rows)


def jobs(orders: Iterable[Answer]) -> Table:
    """Orders, as the list has them."""
    return table(
        "Redrives",
        ("id", "status", "topic", "progress", "came back", "created", "why"),
        [
            (
                one["id"],
                f"{one['status']} (dry run)" if one["dry_run"] else one["status"],
                one["dlq_topic"],
                one["progress"]["text"],
                one["bounced"],
                one["created_at"],
                one["status_reason"] or one["reason"],
            )
            for one in orders
        ],
    )


def group(told: Answer) -> Table:
    """One cause, and its newest records."""
    samples = [
        (
            f"{one['dlq_topic']} {one['partition']}:{one['offset']}",
            f"{one['timestamp']}  {one['value_bytes']} B",
        )
        for one in told["samples"]
    ]
    facts = [(name, value) for name, value in told.items() if name != "samples"]
    return table(f"Cause {told['fingerprint']}", ("", ""), [*facts, *samples])


def duration(span_ms: int) -> str:
    """Seconds, minutes or hours, whatever people would say."""
    for unit_ms, unit in ((3_600_000, "h"), (60_000, "min")):
        if span_ms >= 2 * unit_ms:
            return f"{span_ms / unit_ms:.1f} {unit}"
    return f"{span_ms / 1_000:.1f} s"


def _cell(value: object) -> str:
    return one_line(", ".join(map(str, value)) if isinstance(value, list) else str(value))
