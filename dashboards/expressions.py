"""Every query of a dashboard, ready to be asked: the variables replaced by everything and by times."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_VARIABLE: Final = re.compile(r"\$(?!__)(\w+)|\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a panel."""

    panel: str
    ref: str
    text: str
    instant: bool
    legend: str


def queries(panel: Mapping[str, Any], range_s: int, rate_interval_s: int) -> Iterator[Query]:
    """The queries of a panel as Prometheus reads them, with every variable at All."""
    for target in panel.get("targets", ()):
        text = target["expr"].replace("$__range", f"{range_s}s")
        text = text.replace("$__rate_interval", f"{rate_interval_s}s")
        yield Query(
            panel["title"],
            target["refId"],
            _VARIABLE.sub(".+", text),
            bool(target.get("instant")),
            target.get("legendFormat", ""),
        )
