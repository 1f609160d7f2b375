"""Abandoned connectors and tasks of Kafka Connect."""

from fastapi import APIRouter, Depends

from api.abandoned import Abandoned, differences, evidence_rows, reconcile
from api.schemas import AbandonedFigures, AbandonedInstance, AbandonedInstances
from api.service import Serving, no_parameters
from api.times import instant

router = APIRouter(tags=["abandoned"], dependencies=[Depends(no_parameters)])


@router.get("/abandoned")
def abandoned(service: Serving) -> AbandonedInstances:
    """Everything that was ever abandoned; what still runs comes first, then the latest."""
    with service.store.read() as connection:
        instances = reconcile(evidence_rows(connection))
    urgent_first = sorted(instances, key=lambda instance: (-instance.current, -instance.last_ms))
    return AbandonedInstances(items=[_instance(instance) for instance in urgent_first])


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
