"""The kinds of panels, with the looks that all of them share. Every query goes to the datasource variable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    Panel,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.promql import Expr, PromqlError

DATASOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
DEADWATCH: Final = "${deadwatch_url}"
STAT_HEIGHT: Final = 4
TABLE_HEIGHT: Final = 7
CHART_HEIGHT: Final = 8
SHORT: Final = "short"
SECONDS: Final = "s"
TIME: Final = "dateTimeAsIso"
PER_SECOND: Final = "reqps"
GREEN, YELLOW, ORANGE, RED, BLUE = "green", "yellow", "orange", "red", "blue"

Texts = Mapping[float, tuple[str, str]]
"""What is said instead of a value, and its colour."""

UP_OR_DOWN: Final[Texts] = {1: ("up", GREEN), 0: ("down", RED)}
HEADINGS: Final = {
    "client": "Client library",
    "client_id": "Client",
    "consumergroup": "Group",
    "dlq_topic": "Dead letter topic",
    "error_class": "Error class",
    "kafka_cluster": "Cluster",
    "source_topic": "Came from",
    "target_topic": "Put back to",
}
"""What a column of labels is called where the label's own name, with a capital, will not do."""

Steps = Sequence[tuple[float, str]]
"""From which value on which colour; below the first it is green."""

NEUTRAL: Final[Steps] = ()
ANY_IS_BAD: Final[Steps] = ((1, RED),)
ANY_IS_ODD: Final[Steps] = ((1, ORANGE),)


class Page(StrEnum):
    """Where the api tells more."""

    OVERVIEW = "/api/v1/overview"
    GROUPS = "/api/v1/dead-letters/groups"
    TOPICS = "/api/v1/dead-letters/topics"
    TASKS = "/api/v1/tasks"
    CONNECT_TASKS = "/api/v1/connect/tasks"
    ABANDONED = "/api/v1/abandoned"
    DELIVERY_TIMEOUTS = "/api/v1/delivery-timeouts"
    FINDINGS = "/api/v1/findings"
    REDRIVES = "/api/v1/redrives"
    READINESS = "/readyz"


@dataclass(frozen=True, slots=True)
class About:
    """What every panel says of itself: ``text`` is read where the title does not suffice."""

    title: str
    text: str
    page: Page
    unit: str = SHORT
    steps: Steps = ANY_IS_BAD
    width: int = 6


@dataclass(frozen=True, slots=True)
class Column:
    """A column of values: its name, its unit and from where on which colour."""

    name: str
    expression: Expr
    unit: str = SHORT
    steps: Steps = NEUTRAL
    texts: Texts = field(default_factory=dict)


AnyPanel = Builder[Panel]
Kind = TypeVar("Kind", stat.Panel, timeseries.Panel, table.Panel, bargauge.Panel)


def number(about: About, expression: Expr, *, texts: Texts | None = None) -> AnyPanel:
    """One number, as large as it is important; ``texts`` are (text, colour) instead of a value."""
    panel = _described(stat.Panel(), about).height(STAT_HEIGHT).no_value("no data")
    panel.with_target(_query(expression, "A").instant())
    panel.color_mode(looks.BigValueColorMode.BACKGROUND).graph_mode(looks.BigValueGraphMode.NONE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    if texts:
        panel.mappings([_mapping(texts)])
    return panel


def curves(
    about: About, expression: Expr, legend: str, *more: tuple[Expr, str], bars: bool = False
) -> AnyPanel:
    """Values over time: lines for what has a level, stacked bars for what happens now and then."""
    panel = _described(timeseries.Panel(), about).height(CHART_HEIGHT)
    for ref, (each, name) in zip("ABCDEFGH", ((expression, legend), *more), strict=False):
        panel.with_target(_query(each, ref).range().legend_format(name))
    panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    panel.axis_soft_min(0).line_width(2).fill_opacity(10).show_points(looks.VisibilityMode.AUTO)
    panel.legend(
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(looks.LegendDisplayMode.TABLE)
        .placement(looks.LegendPlacement.BOTTOM)
        .calcs(["max", "lastNotNull"])
    )
    panel.tooltip(
        common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI).sort(looks.SortOrder.DESCENDING)
    )
    if about.steps:
        style = looks.GraphThresholdsStyleMode.DASHED
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(style))
    if bars:
        panel.draw_style(looks.GraphDrawStyle.BARS).fill_opacity(80).line_width(0)
        panel.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL).group("A"))
    return panel


def ranking(about: About, expression: Expr, legend: str) -> AnyPanel:
    """Bars, the longest first."""
    panel = _described(bargauge.Panel(), about).height(TABLE_HEIGHT).no_value("nothing")
    panel.with_target(_query(expression, "A").instant().legend_format(legend))
    panel.display_mode(looks.BarGaugeDisplayMode.BASIC).orientation(looks.VizOrientation.HORIZONTAL)
    panel.value_mode(looks.BarGaugeValueMode.TEXT).show_unfilled(False)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return panel


def rows(about: About, labels: Sequence[str], *columns: Column, worst_first: bool = True) -> AnyPanel:
    """A line for each set of labels, worst first by the first column; columns join where labels agree."""
    for column in columns:
        if column.expression.labels != set(labels):
            raise PromqlError(f"{about.title}: column {column.name} does not have the labels of its row")
    panel = _described(table.Panel(), about).height(TABLE_HEIGHT).no_value("nothing")
    panel.filterable(True)
    for ref, column in zip("ABCDEFGH", columns, strict=False):
        panel.with_target(_query(column.expression, ref).instant().format(PromQueryFormat.TABLE))
        panel.override_by_name(column.name, _column_looks(column))
    values = {
        _value_field(ref, columns): column.name for ref, column in zip("ABCDEFGH", columns, strict=False)
    }
    panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(
        DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {"Time": True, "job": "job" not in labels},
                "indexByName": {name: place for place, name in enumerate((*labels, *values))},
                "renameByName": {label: _heading(label) for label in labels} | values,
            },
        )
    )
    panel.sort_by([common.TableSortByFieldState().display_name(columns[0].name).desc(worst_first)])
    return panel


def _value_field(ref: str, columns: Sequence[Column]) -> str:
    """How Grafana names the value of a query: with its letter, unless there is only one."""
    return f"Value #{ref}" if len(columns) > 1 else "Value"


def _column_looks(column: Column) -> list[DynamicConfigValue]:
    found: list[tuple[str, object]] = [("unit", column.unit)]
    if column.steps:
        found.append(("thresholds", _thresholds(column.steps).build().to_json()))
    if column.texts:
        found.append(("mappings", [_mapping(column.texts).to_json()]))
    if column.steps or column.texts:
        found.append(("custom.cellOptions", {"type": "color-text"}))
    return [DynamicConfigValue(id_val=name, value=value) for name, value in found]


def _heading(label: str) -> str:
    return HEADINGS.get(label, label.capitalize())


def _mapping(texts: Texts) -> ValueMap:
    return ValueMap(
        {f"{value:g}": ValueMappingResult(text=text, color=color) for value, (text, color) in texts.items()}
    )


def _described(panel: Kind, about: About) -> Kind:
    panel.title(about.title).description(about.text).datasource(DATASOURCE)
    panel.unit(about.unit).thresholds(_thresholds(about.steps)).span(about.width)
    if about.unit == SHORT:
        panel.decimals(0)  # counts; increase() makes fractions of them
    links = (("API", about.page), ("Console", "/"))
    panel.links([_link(f"{title}: {about.title}", f"{DEADWATCH}{path}") for title, path in links])
    return panel


def _link(title: str, url: str) -> dashboard.DashboardLink:
    return dashboard.DashboardLink(title).type(DashboardLinkType.LINK).url(url).target_blank(True)


def _query(expression: Expr, ref: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(expression.text).ref_id(ref).datasource(DATASOURCE)


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    base = GREEN if steps else BLUE
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps(
            [Threshold(value=None, color=base), *(Threshold(value=at, color=color) for at, color in steps)]
        )
    )
