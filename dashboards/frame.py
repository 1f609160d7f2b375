"""The frame of every dashboard: variables, links, annotations, and its rows in one order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    DashboardCursorSync,
    DashboardLinkType,
    VariableModel,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from api.metrics import catalog
from api.metrics.catalog import Metric
from dashboards.panels import BLUE, DATASOURCE, ORANGE, AnyPanel, Page, link
from dashboards.promql import PromqlError, Scope

TAG: Final = "deadwatch"
WIDTH: Final = 24
ALL: Final = ".+"
UNNAMED_TOO: Final = ".*"
REFRESH: Final = "30s"
SINCE: Final = "now-6h"
LOCAL_API: Final = "http://127.0.0.1:8000"

SCOPE: Final = Scope({"job": "$job", "namespace": "$namespace", "kafka_cluster": "$kafka_cluster"})
"""What the variables of every dashboard choose."""
RANGE: Final = "$__range"
"""The time that is chosen in Grafana."""
ROWS: Final = ("What is wrong now", "Since when", "Which", "Details")
"""The titles of the rows, the same on every dashboard."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A variable below ``kafka_cluster``: the values that ``label`` of ``metric`` has.

    Its "All" is every value, and ``unnamed`` series too, whose label has none.
    """

    name: str
    title: str
    metric: Metric
    label: str
    unnamed: bool = False

    def __post_init__(self) -> None:
        if self.label not in self.metric.labels:
            raise PromqlError(f"{self.metric.name} has no label {self.label}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A dashboard: four rows of panels, from what is wrong to details; ``uid`` is its address and stays.

    ``page`` is where its panels link to, unless they have a page of their own.
    """

    uid: str
    title: str
    description: str
    page: Page
    now: Sequence[AnyPanel]
    since_when: Sequence[AnyPanel]
    which: Sequence[AnyPanel]
    details: Sequence[AnyPanel]
    choices: Sequence[Choice] = ()

    @property
    def rows(self) -> Mapping[str, Sequence[AnyPanel]]:
        """The panels of each row by the row's title, from top to bottom."""
        return dict(zip(ROWS, (self.now, self.since_when, self.which, self.details), strict=True))


def model(board: Board) -> dict[str, Any]:
    """The dashboard as Grafana reads it."""
    built = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags([TAG])
        .readonly()
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .refresh(REFRESH)
        .time(SINCE, "now")
    )
    for variable in _variables(board.choices):
        built.with_variable(variable)
    to_others = dashboard.DashboardLink("Deadwatch").type(DashboardLinkType.DASHBOARDS).tags([TAG])
    built.link(to_others.include_vars(True).keep_time(True)).annotations(_annotations())
    for title, panels in board.rows.items():
        built.with_row(dashboard.Row(title))
        _share_line(panels)
        for panel in panels:
            if not panel.build().links:
                link(panel, board.page)
            built.with_panel(panel)
    found: dict[str, Any] = json.loads(JSONEncoder().encode(built.build()))
    for number, panel in enumerate(found["panels"], start=1):
        panel["id"] = number
    return found


def _share_line(panels: Sequence[AnyPanel]) -> None:
    """Give panels without a width what the others leave of a line, in equal parts."""
    places = [place for panel in panels if (place := panel.build().grid_pos)]
    without = [place for place in places if not place.w]
    left = WIDTH - sum(place.w for place in places if place.w < WIDTH)
    for place in without:
        place.w = left // len(without)


def _variables(choices: Sequence[Choice]) -> list[Builder[VariableModel]]:
    source = (
        dashboard.DatasourceVariable("datasource")
        .label("Data source")
        .type("prometheus")
        .description("The Prometheus that scrapes Deadwatch.")
    )
    address = (
        dashboard.TextBoxVariable("deadwatch_url")
        .label("Deadwatch")
        .description("Where the api and the console answer to your browser; links go there.")
        .default_value(LOCAL_API)
        .current(VariableOption(selected=True, text=LOCAL_API, value=LOCAL_API))
    )
    of_job = Scope({"job": "$job"}).selector(catalog.BUILD_INFO)
    ours = '{__name__=~"deadwatch_.+", job=~"$job", namespace=~"$namespace"}'
    return [
        source,
        _values_of("job", "Job", catalog.BUILD_INFO.name, "job"),
        _values_of("namespace", "Namespace", of_job, "namespace", UNNAMED_TOO),
        _values_of("kafka_cluster", "Kafka cluster", ours, "kafka_cluster"),
        *(
            _values_of(c.name, c.title, SCOPE.selector(c.metric), c.label, UNNAMED_TOO if c.unnamed else ALL)
            for c in choices
        ),
        address,
    ]


def _values_of(name: str, title: str, series: str, label: str, every: str = ALL) -> Builder[VariableModel]:
    return (
        dashboard.QueryVariable(name)
        .label(title)
        .description(f"Every {title.lower()} that the metrics name; All leaves nothing out.")
        .datasource(DATASOURCE)
        .query({"query": f"label_values({series}, {label})", "refId": f"variable-{name}"})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(every)
        .current(VariableOption(selected=True, text="All", value="$__all"))
    )


def _annotations() -> list[Builder[AnnotationQuery]]:
    redrives = SCOPE.grown(catalog.REDRIVE_RECORDS, outcome="sent").sum("dlq_topic", "target_topic").above(0)
    version = SCOPE.gauge(catalog.BUILD_INFO).max("version")
    before = SCOPE.gauge(catalog.BUILD_INFO, offset="5m").max("version")
    deployed = version.unless(before, "version")
    shown = (("Redrives", redrives, BLUE), ("Deployments of Deadwatch", deployed, ORANGE))
    return [
        dashboard.AnnotationQuery().name(name).datasource(DATASOURCE).expr(found.text).icon_color(color)
        for name, found, color in shown
    ]
