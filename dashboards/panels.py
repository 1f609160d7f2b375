"""The kinds of panels, in one style. Every query goes to the data source of the dashboard's variable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypedDict, TypeVar, Unpack

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    GridPos,
    Panel,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.promql import Expr

DATASOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
DEADWATCH: Final = "${deadwatch_url}"
STAT_HEIGHT: Final = 4
TABLE_HEIGHT: Final = 7
CHART_HEIGHT: Final = 8
NOTHING: Final = "nothing"
SHORT: Final = "short"
SECONDS: Final = "s"
TIME: Final = "dateTimeAsIso"
PER_SECOND: Final = "reqps"
GREEN, YELLOW, ORANGE, RED, BLUE = "green", "yellow", "orange", "red", "blue"

Texts = Mapping[float, tuple[str, str]]
"""The text that is shown instead of a value, and its colour."""

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
    """The page of the api to which a panel links for details."""

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


class Look(TypedDict, total=False):
    """How a panel looks: the unit of its values, from which value on which colour, texts instead of values.

    Panels without a width (of 24) share what the others leave of a line; one without a page has its board's.
    """

    unit: str
    steps: Steps
    texts: Texts
    width: int
    page: Page


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its unit, and from which value on it has which colour.

    What has other labels than the row is added up by the row's.
    """

    name: str
    expression: Expr
    unit: str = SHORT
    steps: Steps = NEUTRAL
    texts: Texts = field(default_factory=dict)


AnyPanel = Builder[Panel]
Kind = TypeVar("Kind", stat.Panel, timeseries.Panel, table.Panel, bargauge.Panel)


def number(title: str, text: str, expression: Expr, **look: Unpack[Look]) -> AnyPanel:
    """One number, as large as it is important, red from 1 on unless ``steps`` say other."""
    look.setdefault("steps", ANY_IS_BAD)
    panel = _described(stat.Panel(), STAT_HEIGHT, title, text, **look).no_value("no data")
    panel.with_target(_query(expression, "A").instant())
    panel.color_mode(looks.BigValueColorMode.BACKGROUND).graph_mode(looks.BigValueGraphMode.NONE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    if "texts" in look:
        panel.mappings([_mapping(look["texts"])])
    return panel


def curves(
    title: str, text: str, *series: Expr | tuple[Expr, str], bars: bool = False, **look: Unpack[Look]
) -> AnyPanel:
    """Values over time: lines for what has a level, stacked bars for what happens now and then.

    A series is named by its label, unless a legend stands beside it.
    """
    panel = _described(timeseries.Panel(), CHART_HEIGHT, title, text, **look)
    for ref, each in zip("ABCDEFGH", series, strict=False):
        expression, legend = each if isinstance(each, tuple) else (each, _legend(each))
        panel.with_target(_query(expression, ref).range().legend_format(legend))
        if bars or expression.labels:  # without a series nothing happens, or there is none of the kind
            panel.no_value(NOTHING)
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
    if look.get("steps"):
        style = looks.GraphThresholdsStyleMode.DASHED
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(style))
    if bars:
        panel.draw_style(looks.GraphDrawStyle.BARS).fill_opacity(80).line_width(0)
        panel.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL).group("A"))
    return panel


def ranking(title: str, text: str, expression: Expr, **look: Unpack[Look]) -> AnyPanel:
    """A bar for each series, the longest first, named by its label."""
    panel = _described(bargauge.Panel(), TABLE_HEIGHT, title, text, **look).no_value(NOTHING)
    panel.with_target(_query(expression, "A").instant().legend_format(_legend(expression)))
    panel.display_mode(looks.BarGaugeDisplayMode.BASIC).orientation(looks.VizOrientation.HORIZONTAL)
    panel.value_mode(looks.BarGaugeValueMode.TEXT).show_unfilled(False)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return panel


def rows(
    title: str,
    text: str,
    labels: Sequence[str],
    *columns: Column,
    worst_first: bool = True,
    **look: Unpack[Look],
) -> AnyPanel:
    """A line for each set of labels, worst first by the first column; columns join where labels agree."""
    panel = _described(table.Panel(), TABLE_HEIGHT, title, text, **look).no_value(NOTHING)
    panel.filterable(True)
    for ref, column in zip("ABCDEFGH", columns, strict=False):
        panel.with_target(_query(column.expression.sum(*labels), ref).instant().format(PromQueryFormat.TABLE))
        panel.override_by_name(column.name, _column_looks(column))
    values = {"Value": columns[0].name}  # so Grafana calls it; several have the letters of their queries
    if len(columns) > 1:
        values = {f"Value #{ref}": each.name for ref, each in zip("ABCDEFGH", columns, strict=False)}
    organised = {
        "excludeByName": {"Time": True, "job": "job" not in labels},
        "indexByName": {name: place for place, name in enumerate((*labels, *values))},
        "renameByName": {label: HEADINGS.get(label, label.capitalize()) for label in labels} | values,
    }
    panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(DataTransformerConfig(id_val="organize", options=organised))
    panel.sort_by([common.TableSortByFieldState().display_name(columns[0].name).desc(worst_first)])
    return panel


def _column_looks(column: Column) -> list[DynamicConfigValue]:
    found: list[tuple[str, object]] = [("unit", column.unit)]
    if column.steps:
        found.append(("thresholds", _thresholds(column.steps).build().to_json()))
    if column.texts:
        found.append(("mappings", [_mapping(column.texts).to_json()]))
    if column.steps or column.texts:
        found.append(("custom.cellOptions", {"type": "color-text"}))
    return [DynamicConfigValue(id_val=name, value=value) for name, value in found]


def _mapping(texts: Texts) -> ValueMap:
    return ValueMap(
        {f"{value:g}": ValueMappingResult(text=text, color=color) for value, (text, color) in texts.items()}
    )


def _described(panel: Kind, height: int, title: str, text: str, **look: Unpack[Look]) -> Kind:
    unit = look.get("unit", SHORT)
    panel.title(title).description(text).datasource(DATASOURCE)
    panel.unit(unit).thresholds(_thresholds(look.get("steps", NEUTRAL)))
    panel.grid_pos(GridPos(h=height, w=look.get("width", 0)))
    if unit == SHORT:
        panel.decimals(0)  # counts
    if "page" in look:
        link(panel, look["page"])
    return panel


def link(panel: AnyPanel, page: Page) -> None:
    """Let a panel link to a page of the api, and to the console."""
    built = panel.build()
    made = (
        dashboard.DashboardLink(f"{place}: {built.title}")
        .type(DashboardLinkType.LINK)
        .url(f"{DEADWATCH}{path}")
        .target_blank(True)
        for place, path in (("API", page), ("Console", "/"))
    )
    built.links = [each.build() for each in made]


def _legend(expression: Expr) -> str:
    (label,) = expression.labels
    return f"{{{{{label}}}}}"


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
