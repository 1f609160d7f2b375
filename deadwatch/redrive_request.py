"""What was said on the command line as the body of ``POST /api/v1/redrives``; the api judges it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from deadwatch.api_client import SaidError

OFFSETS: Final = re.compile(r"(\d{1,9}):(\d{1,18})-(\d{1,18})")
RECORD: Final = re.compile(r"(\d{1,9}):(\d{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The flags; None and empty: nothing."""

    dlq_topic: str
    reason: str
    everything: bool = False
    group: str | None = None
    expression: str | None = None
    offsets: Sequence[str] = ()
    records: Sequence[str] = ()
    since: str | None = None
    until: str | None = None
    target: str = "origin"
    rate: float | None = None
    max_records: int | None = None
    max_attempts: int | None = None
    settle_after_s: float | None = None
    engine: str = "local"
    again: bool = False


def body(said: Said) -> dict[str, Any]:
    """The request, a dry run. Raises ``SaidError``."""
    return {
        "dlq_topic": said.dlq_topic,
        "selection": _selection(said),
        "target": _target(said.target),
        "limits": _present(records_per_second=said.rate, max_records=said.max_records),
        "retry": _present(max_attempts=said.max_attempts),
        "guards": _present(
            settle_window_ms=None if said.settle_after_s is None else round(said.settle_after_s * 1_000)
        ),
        "engine": said.engine,
        **_present(again=said.again or None),
        "reason": said.reason,
        "dry_run": True,
    }


def _selection(said: Said) -> dict[str, Any]:
    selection = _present(
        all=said.everything or None,
        group=said.group,
        filter=said.expression,
        offsets=dict(_interval(text) for text in said.offsets) or None,
        records=[_place(text) for text in said.records] or None,
        **{"from": said.since, "to": said.until},
    )
    if not selection:
        raise SaidError("which records? say --all, --group, --filter, --offsets, --record, --from or --to")
    return selection


def _interval(text: str) -> tuple[str, list[int]]:
    match = OFFSETS.fullmatch(text)
    if match is None:
        raise SaidError(f"--offsets takes PARTITION:FROM-TO, as 0:10-20 (20 is left out), not {text!r}")
    return match[1], [int(match[2]), int(match[3])]


def _place(text: str) -> dict[str, int]:
    match = RECORD.fullmatch(text)
    if match is None:
        raise SaidError(f"--record takes PARTITION:OFFSET, as 0:42, not {text!r}")
    return {"partition": int(match[1]), "offset": int(match[2])}


def _target(text: str) -> dict[str, Any]:
    """``origin``, ``topic:NAME``, ``map:OLD=NEW,OLD=NEW``, ``retry:GROUP``."""
    kind, _, rest = text.partition(":")
    if kind == "origin" and not rest:
        return {"kind": "origin"}
    if kind == "topic" and rest:
        return {"kind": "topic", "topic": rest}
    if kind == "retry" and rest:
        return {"kind": "retry", "consumergroup": rest}
    pairs = [pair.split("=") for pair in rest.split(",")]
    if kind == "map" and all(len(pair) == 2 for pair in pairs):  # noqa: PLR2004 -- a pair
        return {"kind": "map", "map": dict(pairs)}
    raise SaidError(f"--target takes origin, topic:NAME, map:OLD=NEW,OLD=NEW or retry:GROUP, not {text!r}")


def _present(**values: Any) -> dict[str, Any]:  # noqa: ANN401 -- JSON
    return {name: value for name, value in values.items() if value is not None}
