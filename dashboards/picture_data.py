"""What a drawing is made of: a place, the panel as Grafana reads it, and series."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashboards.drawing import COLOURS

_LABEL: Final = re.compile(r"{{(\w+)}}")


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float

    def below(self, height: float) -> "Area":
        """What is left under a strip of this height."""
        return Area(self.x, self.y + height, self.width, self.height - height)


@dataclass(frozen=True, slots=True)
class Series:
    """A series of one query: labels and (time, value), oldest first."""

    ref: str
    legend: str
    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]

    @property
    def name(self) -> str:
        """As the legend calls it."""
        return _LABEL.sub(lambda found: self.labels.get(found[1], ""), self.legend).strip() or "value"

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A panel with its data and the place below its title."""

    panel: Mapping[str, Any]
    area: Area
    series: Sequence[Series]
    start: float
    end: float

    @property
    def defaults(self) -> Mapping[str, Any]:
        """What holds for every field."""
        defaults: Mapping[str, Any] = self.panel["fieldConfig"]["defaults"]
        return defaults

    @property
    def unit(self) -> str:
        """Of the values."""
        return str(self.defaults["unit"])


def colour(value: float, steps: Sequence[Mapping[str, Any]]) -> str:
    """The colour of the last threshold that the value reaches."""
    reached = [step["color"] for step in steps if step["value"] is None or value >= step["value"]]
    return COLOURS[reached[-1]]
