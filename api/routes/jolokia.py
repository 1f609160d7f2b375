"""Kafka's proposed beans, read as from a Jolokia agent."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from api import jolokia
from api.schemas import JolokiaAnswer
from api.service import Serving, no_parameters

router = APIRouter(prefix="/jolokia", tags=["metrics"], dependencies=[Depends(no_parameters)])

MS_PER_S = 1_000


@router.get("/read/{bean:path}", response_model_exclude_unset=True)
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
        found = jolokia.beans(connection)
    told = {**jolokia.read(found, bean), "timestamp": service.now_ms() // MS_PER_S}
    return JolokiaAnswer.model_validate(told)
