"""For orchestrators and scrapers: whether the process lives and can answer, and its metrics.

Beans that Kafka's proposals describe and no Kafka ships are read here as from a Jolokia agent, under their
names there; figures are sums over the workers, or brokers, that have reported them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Path, Response
from pydantic import Field

from api.answers import Answer
from api.auth.roles import VIEWER
from api.errors import ApiError
from api.service import NoParameters, Serving
from api.signals.abandoned import Abandoned, evidence_rows, reconcile
from api.signals.pipeline import Moment, source_rows, workforce
from api.store import StoredRow, every_row
from collector.sources.jolokia import bean_properties
from deadwatch.runtime.clock import MS_PER_S
from deadwatch.store import schema
from deadwatch.store.heartbeat import STORE, STREAMING


class Alive(Answer):
    """The process answers."""

    alive: Literal[True] = True


class Readiness(Answer):
    """Whether the other routes can answer; ``missing`` says what they lack."""

    ready: bool = Field(examples=[True])
    missing: list[str] = Field(examples=[[]])
    warnings: list[str] = Field(
        description="What does not work although the api is ready: redrives without a worker.", examples=[[]]
    )


router = APIRouter()


@router.get("/livez", tags=["health"])
async def livez() -> Alive:  # waits for no thread
    """The process answers."""
    return Alive()


@router.get("/readyz", tags=["health"], responses={503: {"model": Readiness, "description": "Not ready."}})
def readyz(service: Serving, response: Response) -> Readiness:
    """Ready when the store can be read and its schema is known; else 503 and what is missing."""
    try:
        moment = service.moment
        with service.store.read() as connection:
            rows = source_rows(connection)
            found = workforce(connection, rows, moment)
    except ApiError as error:
        response.status_code = 503
        return Readiness(ready=False, missing=[str(error)], warnings=[])
    warnings = [
        *(_stream_warning(row, moment) for row in rows if row.kind == STREAMING),
        *(row.message for row in rows if row.kind == STORE),
        found.warning,
    ]
    return Readiness(ready=True, missing=[], warnings=[warning for warning in warnings if warning])


def _stream_warning(row: StoredRow, moment: Moment) -> str:
    if not moment.is_up(row):
        return f"streaming counts nothing now: {row.message or 'it is silent'}"
    return row.message and f"streaming: {row.message}"


@router.get("/metrics", tags=["metrics"], dependencies=[VIEWER], response_class=Response)
def metrics(service: Serving, accept: Annotated[str, Header()] = "") -> Response:
    """Every metric of the catalogue, as Prometheus text or, by ``Accept``, as OpenMetrics."""
    body, content_type = service.exposition.body(service.moment, accept)
    return Response(body, headers={"Content-Type": content_type})


Beans = Mapping[str, Mapping[str, int]]
"""Attributes by the bean's name."""
WORKER: Final = "kafka.connect:type=connect-worker-metrics"
METERS: Final = {
    "DeadLetterQueueRecordCount": "records_total",
    "DeadLetterQueueTotalProduceRequestsPerSec": "produce_requests_total",
    "DeadLetterQueueFailedProduceRequestsPerSec": "failed_produce_requests_total",
}
NOT_FOUND: Final = "javax.management.InstanceNotFoundException"
NO_ATTRIBUTE: Final = "javax.management.AttributeNotFoundException"
MALFORMED: Final = "javax.management.MalformedObjectNameException"
_QUOTED: Final = re.compile(r'[,=:"*?\n]')


def connect_beans(instances: Iterable[Abandoned]) -> Beans:
    """KIP-611: abandoned connectors and tasks, of the worker and of each."""
    worker: Counter[str] = Counter()
    found: dict[str, Counter[str]] = {}
    for instance in instances:
        kind = "task" if instance.task else "connector"
        worker[f"abandoned-{kind}s-current"] += instance.current
        worker[f"abandoned-{kind}s-total"] += instance.total
        name = f"kafka.connect:type=abandoned-{kind}-metrics,connector={_value(instance.connector)}"
        bean = found.setdefault(f"{name},task={_value(instance.task)}" if instance.task else name, Counter())
        bean["current"] += instance.current
        bean["total"] += instance.total
    names = [
        f"abandoned-{kind}s-{figure}" for kind in ("connector", "task") for figure in ("current", "total")
    ]
    return {WORKER: {name: worker[name] for name in names}, **found}


def share_beans(groups: Iterable[StoredRow]) -> Beans:
    """KIP-1191: meters of share groups; of a meter only its count is known here."""
    found: dict[str, Counter[str]] = {}
    for group in groups:
        for meter, column in METERS.items():
            name = f"kafka.server:type=ShareGroupMetrics,name={meter},group={_value(group.consumergroup)}"
            found.setdefault(name, Counter())["Count"] += getattr(group, column)
    return found


def _answer(found: Beans, path: str) -> Mapping[str, object]:
    """Jolokia's answer to ``/read/<path>``, without its time; an error is an answer too."""
    name, _, attribute = (part.replace("\x00", "/") for part in path.replace("!/", "\x00").partition("/"))
    request = {"mbean": name, "type": "read", **({"attribute": attribute} if attribute else {})}
    domain, colon, properties = name.partition(":")
    if not colon or ("=" not in properties and properties != "*"):
        return _error(request, 400, MALFORMED, f"{name} is no name of a bean")
    matching = {bean: values for bean, values in found.items() if _matches(bean, domain, properties)}
    if not matching:
        return _error(request, 404, NOT_FOUND, f"No MBean {name}: none is known here")
    if attribute:
        matching = {
            bean: {attribute: values[attribute]} for bean, values in matching.items() if attribute in values
        }
        if not matching:
            return _error(request, 404, NO_ATTRIBUTE, f"No such attribute: {attribute}")
    if "*" in name or "?" in name:
        return {"request": request, "value": matching, "status": 200}
    (values,) = matching.values()
    return {"request": request, "value": values[attribute] if attribute else values, "status": 200}


def _matches(bean: str, domain: str, properties: str) -> bool:
    bean_domain, _, _ = bean.partition(":")
    has, asks = bean_properties(bean), bean_properties(f"{domain}:{properties}")
    open_ended = properties == "*" or properties.endswith(",*") or properties.startswith("*,")
    return (
        fnmatchcase(bean_domain, domain.replace("[", "[[]"))
        and (open_ended or set(has) == set(asks))
        and all(
            name in has and fnmatchcase(has[name], value.replace("[", "[[]")) for name, value in asks.items()
        )
    )


def _error(request: Mapping[str, str], status: int, kind: str, text: str) -> Mapping[str, object]:
    return {"request": request, "error_type": kind, "error": f"{kind} : {text}", "status": status}


def _value(text: str) -> str:
    """The text as a value of an object's name."""
    if not _QUOTED.search(text):
        return text
    escaped = re.sub(r'([\\"*?])', r"\\\1", text).replace("\n", "\\n")
    return f'"{escaped}"'


class JolokiaRequest(Answer):
    """The request that is answered."""

    mbean: str = Field(examples=["kafka.connect:type=connect-worker-metrics"])
    type: Literal["read"] = "read"
    attribute: str | None = Field(None, examples=["abandoned-tasks-total"])


class JolokiaAnswer(Answer):
    """The answer as a Jolokia agent gives it: a bean that does not exist is an answer, too, with its own
    ``status``.
    """

    request: JolokiaRequest
    value: dict[str, int] | dict[str, dict[str, int]] | int | None = Field(
        None,
        description="Attributes of one bean; of a pattern, by the beans' names; of one attribute, its value.",
        examples=[{"abandoned-tasks-current": 1, "abandoned-tasks-total": 1}],
    )
    status: int = Field(description="200, 400 or 404.", examples=[200])
    timestamp: int = Field(description="Seconds since the epoch.", examples=[1_800_000_000])
    error_type: str | None = Field(None, examples=[None])
    error: str | None = Field(None, examples=[None])


@router.get(
    "/jolokia/read/{bean:path}",
    tags=["metrics"],
    dependencies=[VIEWER, NoParameters],
    response_model_exclude_unset=True,
)
def read(
    service: Serving,
    bean: Annotated[
        str,
        Path(
            min_length=1,
            max_length=1_000,
            description="Name or pattern of a bean, then perhaps / and an attribute; a / in a name is !/.",
            examples=["kafka.connect:type=connect-worker-metrics"],
        ),
    ],
) -> JolokiaAnswer:
    """Abandoned tasks and connectors (KIP-611) and dead letters of share groups (KIP-1191)."""
    with service.store.read() as connection:
        abandoned = reconcile(evidence_rows(connection))
        groups = every_row(connection, schema.share_groups)
    found = {**connect_beans(abandoned), **share_beans(groups)}
    answer = {**_answer(found, bean), "timestamp": service.now_ms() // MS_PER_S}
    return JolokiaAnswer.model_validate(answer)
