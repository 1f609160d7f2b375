"""Beans that Kafka's proposals describe and no Kafka ships, under the names that they have there.

An agent that reads Kafka's beans by Jolokia finds them here; figures are sums over the workers, or brokers,
that have told of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from sqlalchemy import Connection

from api.abandoned import Abandoned, evidence_rows, reconcile
from api.brokers import ShareGroupRow, share_group_rows
from collector.sources.jolokia import bean_properties

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


def beans(connection: Connection) -> Beans:
    """Every bean with its attributes."""
    return {
        **connect_beans(reconcile(evidence_rows(connection))),
        **share_beans(share_group_rows(connection)),
    }


def connect_beans(instances: Iterable[Abandoned]) -> Beans:
    """KIP-611: abandoned connectors and tasks, of the worker and of each."""
    worker: Counter[str] = Counter()
    found: dict[str, Counter[str]] = {}
    for one in instances:
        kind = "task" if one.task else "connector"
        worker[f"abandoned-{kind}s-current"] += one.current
        worker[f"abandoned-{kind}s-total"] += one.total
        name = f"kafka.connect:type=abandoned-{kind}-metrics,connector={_value(one.connector)}"
        bean = found.setdefault(f"{name},task={_value(one.task)}" if one.task else name, Counter())
        bean["current"] += one.current
        bean["total"] += one.total
    names = [
        f"abandoned-{kind}s-{figure}" for kind in ("connector", "task") for figure in ("current", "total")
    ]
    return {WORKER: {name: worker[name] for name in names}, **found}


def share_beans(groups: Iterable[ShareGroupRow]) -> Beans:
    """KIP-1191: meters of share groups; of a meter only its count is known here."""
    found: dict[str, Counter[str]] = {}
    for group in groups:
        for meter, column in METERS.items():
            name = f"kafka.server:type=ShareGroupMetrics,name={meter},group={_value(group.consumergroup)}"
            found.setdefault(name, Counter())["Count"] += getattr(group, column)
    return found


def read(found: Beans, path: str) -> Mapping[str, object]:
    """Jolokia's answer to ``/read/<path>``, without its time; what is wrong is an answer as well."""
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
    """As a value of an object's name."""
    if not _QUOTED.search(text):
        return text
    escaped = re.sub(r'([\\"*?])', r"\\\1", text).replace("\n", "\\n")
    return f'"{escaped}"'
