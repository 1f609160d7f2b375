"""Every order and every policy that can be asked for, as JSON documents: strategies of Hypothesis.

A table has a line for each field of its model; ``FIELDS`` pairs them, so that a test can tell when a model
has a field more.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

from hypothesis import strategies as st
from pydantic import BaseModel

from deadwatch.orders import order
from deadwatch.orders.order import OrderRequest
from deadwatch.orders.policy import PolicyRequest
from deadwatch.runtime.logs import LINE

Table = dict[str, st.SearchStrategy[Any]]

LARGEST: Final = 2**63 - 1
"""Kafka's offsets are 64 bits, partitions 32."""

NASTY: Final = (
    "it's",
    '"quoted" \\ `id`',
    "$(rm -rf /) $HOME; *",
    "--all",
    "-x",
    "a=b,c=d",
    "none",
    "null",
    "true",
    "5",
    "{}",
    "</textarea><b>&amp;",
    "wörter 語 🎉",
    "a\u202eb\u200bc",
    "no\u00a0break",
)
"""Texts that a shell, a page or a reader of JSON may take for something else."""

# What no text can hold: surrogates, and NUL, which no command line can carry unless it is escaped.
_free = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
texts = st.sampled_from(NASTY) | _free
lines = texts.filter(lambda text: re.fullmatch(LINE, text) is not None)
names = st.from_regex(r"\A[A-Za-z0-9._-]{1,20}\Z")
fingerprints = st.from_regex(r"\A[0-9A-Za-z_-]{1,64}\Z")
classes = st.lists(st.from_regex(r"\A[A-Za-z0-9_.$-]{1,30}\Z"), max_size=3)
counts = st.integers(1, LARGEST)
rates = st.integers(1, 10**9) | st.floats(0, 1e9, exclude_min=True, allow_subnormal=False)
_zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=_zones | st.just(UTC))  # noqa: DTZ001 -- Hypothesis adds the zone
partitions = st.integers(0, 2**31 - 1)
_interval = st.lists(st.integers(0, LARGEST), min_size=2, max_size=2, unique=True).map(sorted)


def _iso(pair: list[datetime]) -> dict[str, str]:
    return {"from": min(pair).isoformat(), "to": max(pair).isoformat()}


WAYS: Final[Table] = {
    "all": st.just({"all": True}),
    "group": st.fixed_dictionaries({"group": fingerprints}),
    "filter": st.fixed_dictionaries({"filter": texts}),
    "offsets": st.fixed_dictionaries(
        {"offsets": st.dictionaries(partitions.map(str), _interval, min_size=1, max_size=4)}
    ),
    "from_": st.one_of(
        times.map(lambda time: {"from": time.isoformat()}),
        st.lists(times, min_size=2, max_size=2, unique=True).map(_iso),
    ),
    "to": times.map(lambda time: {"to": time.isoformat()}),
    "records": st.fixed_dictionaries(
        {
            "records": st.lists(
                st.fixed_dictionaries({"partition": partitions, "offset": st.integers(0, LARGEST)}),
                min_size=1,
                max_size=5,
            )
        }
    ),
}
"""Each way of selecting by the field that it is said with."""

TARGETS: Final[Table] = {
    "OriginTarget": st.just({"kind": "origin"}),
    "TopicTarget": st.fixed_dictionaries({"kind": st.just("topic"), "topic": names}),
    "MapTarget": st.fixed_dictionaries(
        {"kind": st.just("map"), "map": st.dictionaries(names, names, min_size=1, max_size=4)}
    ),
    "RetryTarget": st.fixed_dictionaries(
        {"kind": st.just("retry"), "consumergroup": texts}, optional={"topic": st.none() | names}
    ),
}
LIMITS: Final[Table] = {
    "records_per_second": st.none() | rates,
    "bytes_per_second": st.none() | counts,
    "max_records": st.none() | counts,
    "max_in_flight": counts,
    "per_target_records_per_second": st.none() | rates,
}
RETRY: Final[Table] = {
    "max_attempts": st.integers(1, 1_000),
    "retry_backoff_ms": st.integers(0, 10**15),
    "retry_backoff_max_ms": st.integers(0, 7 * 86_400_000),
    "park_error_classes": classes,
}
GUARDS: Final[Table] = {
    "max_bounce_ratio": st.none() | st.floats(0, 1, exclude_min=True, allow_subnormal=False),
    "max_consecutive_failures": st.none() | counts,
    "max_target_lag": st.none() | counts,
    "lag_group": st.none() | texts | st.just(""),
    "settle_window_ms": st.integers(0, 10**15),
}
TERMS: Final[Table] = {
    "target": st.one_of(*TARGETS.values()),
    "limits": st.fixed_dictionaries({}, optional=LIMITS),
    "retry": st.fixed_dictionaries({}, optional=RETRY),
    "guards": st.fixed_dictionaries({}, optional=GUARDS),
    "task_timeout_ms": st.integers(0, LARGEST),
    "delivery_timeout_ms": st.integers(1, LARGEST),
    "drop_headers": st.none() | st.lists(st.sampled_from(["x", "x-*", "*", " a b", "caf\u00e9"]), max_size=3),
}
ORDER: Final[Table] = {
    **TERMS,
    "dry_run": st.booleans(),
    "confirm": st.none() | st.integers(0, LARGEST),
    "dlq_topic_id": st.none() | st.uuids().map(str),
    "cut_off": st.none() | st.dictionaries(st.integers(0, 9), st.integers(0, LARGEST), max_size=3),
    "engine": st.sampled_from(["local", "spark"]),
    "again": st.booleans(),
}
ORDER_NEEDS: Final[Table] = {"dlq_topic": names, "selection": st.one_of(*WAYS.values()), "reason": lines}
POLICY: Final[Table] = {
    **TERMS,
    "limits": st.fixed_dictionaries({}, optional=LIMITS | {"max_records": st.none()}),
    "filter": st.none() | texts,
    "exclude_error_classes": classes,
    "excluded": st.sampled_from(["park", "leave"]),
    "include_existing": st.booleans(),
    "enabled": st.booleans(),
}
POLICY_NEEDS: Final[Table] = {
    "dlq_topics": st.lists(st.sampled_from([r"dlq\.orders", "dlq.*", " dlq", "a\nb", "x,y"]), min_size=1),
    "reason": lines,
}
FIELDS: Final[tuple[tuple[type[BaseModel], Table], ...]] = (
    (order.Selection, WAYS),
    (order.Limits, LIMITS),
    (order.Retry, RETRY),
    (order.Guards, GUARDS),
    (OrderRequest, ORDER | ORDER_NEEDS),
    (PolicyRequest, POLICY | POLICY_NEEDS),
)

orders = st.fixed_dictionaries(ORDER_NEEDS, optional=ORDER).map(OrderRequest.model_validate)
policies = st.fixed_dictionaries(POLICY_NEEDS, optional=POLICY).map(PolicyRequest.model_validate)
