"""Abandoned connectors and tasks of Kafka Connect."""

from fastapi import APIRouter

from api import cursor
from api.abandoned import Abandoned, differences, evidence_rows, reconcile
from api.cursor import Key
from api.schemas import AbandonedFigures, AbandonedInstance, AbandonedInstances
from api.service import Paging, Serving
from api.times import instant

router = APIRouter(tags=["abandoned"])


@router.get("/abandoned")
def abandoned(service: Serving, query: Paging) -> AbandonedInstances:
    """Everything that was ever abandoned; what still runs comes first, then the latest."""
    with service.store.read() as connection:
        instances = reconcile(evidence_rows(connection))
    page, following = cursor.page(instances, _urgency, query.after, query.limit, numbers=2, names=4)
    return AbandonedInstances(items=[_instance(instance) for instance in page], next=following)


def _urgency(one: Abandoned) -> Key:
    return -one.current, -one.last_ms, one.kafka_cluster, one.worker, one.connector, one.task


def _instance(instance: Abandoned) -> AbandonedInstance:
    return AbandonedInstance(
        kind="task" if instance.task else "connector",
        kafka_cluster=instance.kafka_cluster,
        worker=instance.worker,
        connector=instance.connector,
        task=instance.task or None,
        current=instance.current,
        total=instance.total,
        evidence="threads" if instance.seen else "log",
        log=AbandonedFigures(current=instance.logged_current, total=instance.logged_total),
        threads=AbandonedFigures(current=instance.seen_current, total=instance.seen_total)
        if instance.seen
        else None,
        disagree=any(differences(instance)) if instance.compared else None,
        message=instance.message,
        first_seen=instant(instance.first_ms),
        last_seen=instant(instance.last_ms),
    )
