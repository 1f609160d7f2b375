"""A policy as a row of the store."""

import json
from typing import Any

from sqlalchemy import RowMapping

from streaming.redrive.policy import Policy, PolicyRequest, Positions
from streaming.store.batch import storable


def policy_of(row: RowMapping) -> Policy:
    """The policy of a row."""
    values = {**row, "request": PolicyRequest.model_validate_json(row["request"])}
    del values["enabled"]
    positions = {
        topic: {int(partition): offset for partition, offset in places.items()}
        for topic, places in json.loads(row["positions"]).items()
    }
    return Policy(**{**values, "positions": positions})


def values(policy: Policy) -> dict[str, Any]:
    """Every column but the id."""
    return {
        "version": policy.version,
        "request": policy.request.model_dump_json(),
        "enabled": policy.request.enabled,
        "changed_by": storable(policy.changed_by),
        "created_at_ms": policy.created_at_ms,
        "changed_at_ms": policy.changed_at_ms,
        "positions": positions_of(policy.positions),
        "last_topic": policy.last_topic,
        "failures": policy.failures,
        "status_reason": policy.status_reason,
        "next_at_ms": policy.next_at_ms,
    }


def positions_of(positions: Positions) -> str:
    """As they are kept."""
    return json.dumps(positions)
