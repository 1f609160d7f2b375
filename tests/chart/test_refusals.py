"""Each wrong value is refused with a message that names it."""

import re
from typing import Any

import pytest
import yaml

from deadwatch.runtime.strict_yaml import Loader
from tests.chart.tools import CHART, MINIMAL, OPERATED, helm, one, template
from tests.tables import named

POSTGRESQL = {"store.kind": "postgresql", "store.postgresql": {"existingSecret": "pg", "host": "db"}}

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("an unknown value", {"kafak": {}}, "additional properties 'kafak' not allowed"),
    ("an unknown nested value", {"kafka.bootstrap": "k:1"}, "/kafka.*'bootstrap' not allowed"),
    ("servers without a port", {"kafka.bootstrapServers": "kafka"}, "/kafka/bootstrapServers"),
    ("servers with spaces", {"kafka.bootstrapServers": "a:1, b:1"}, "/kafka/bootstrapServers"),
    ("an unknown protocol", {"kafka.securityProtocol": "TLS"}, "/kafka/securityProtocol"),
    ("an unknown mechanism", {"kafka.sasl.mechanism": "MD5"}, "/kafka/sasl/mechanism"),
    ("SASL without a secret", {"kafka.securityProtocol": "SASL_SSL"}, "needs kafka.sasl.mechanism and"),
    ("a secret without SASL", {"kafka.sasl.existingSecret": "x"}, "kafka.sasl needs a SASL"),
    ("certificates without TLS", {"kafka.tls.caSecret": "ca"}, "kafka.tls needs kafka.securityProtocol SSL"),
    ("a secret's name that is none", {"kafka.tls.caSecret": "CA!"}, "/kafka/tls/caSecret"),
    ("another database", {"store.kind": "mysql"}, "/store/kind"),
    ("a database without secret", {"store.kind": "postgresql"}, "needs store.postgresql.existingSecret"),
    (
        "a database without host",
        {"store.kind": "postgresql", "store.postgresql.existingSecret": "pg"},
        "needs store.postgresql.host or store.postgresql.urlKey",
    ),
    (
        "TLS that cannot be verified",
        POSTGRESQL | {"store.postgresql.sslMode": "verify-full"},
        "sslMode verify-full needs store.postgresql.caSecret",
    ),
    ("no pepper", {"api.auth.existingSecret": ""}, "api.auth.existingSecret is needed.*openssl rand"),
    ("replicas on SQLite", {"api.replicas": 2}, "file on one node: api.replicas must be 1"),
    ("workers on SQLite", {"redrive.replicas": 2}, "file on one node: redrive.replicas must be 1"),
    ("an operator on SQLite", {"streaming.spark.mode": "operator"}, "operator needs store.kind postgresql"),
    (
        "an operator on a volume of one node",
        POSTGRESQL
        | {"streaming.spark.mode": "operator", "streaming.persistence.accessMode": "ReadWriteOnce"},
        "needs shared storage",
    ),
    ("an unknown mode", {"streaming.spark.mode": "yarn"}, "/streaming/spark/mode"),
    ("memory in another unit", {"streaming.spark.driverMemory": "2Gi"}, "/streaming/spark/driverMemory"),
    ("a heap that leaves no room", {"streaming.spark.driverMemory": "4g"}, "leaves less than 1 GiB"),
    (
        "a budget that blocks a drain of one replica",
        {"api.podDisruptionBudget": {"enabled": True, "minAvailable": 1}},
        "api.podDisruptionBudget.minAvailable 1 of 1 replicas would block every drain",
    ),
    (
        "a share that blocks a drain of one replica",
        {"collector.podDisruptionBudget": {"enabled": True, "minAvailable": "50%"}},
        "minAvailable 50% of 1 replicas would block every drain",
    ),
    (
        "a budget that blocks a drain of all replicas",
        POSTGRESQL
        | {"redrive.replicas": 3, "redrive.podDisruptionBudget": {"enabled": True, "minAvailable": 3}},
        "minAvailable 3 of 3 replicas would block every drain",
    ),
    (
        "a share that is all replicas when it is rounded up",
        POSTGRESQL
        | {"redrive.replicas": 3, "redrive.podDisruptionBudget": {"enabled": True, "minAvailable": "67%"}},
        "minAvailable 67% of 3 replicas would block every drain",
    ),
    (
        "a budget of nothing",
        {"streaming.podDisruptionBudget": {"enabled": True, "maxUnavailable": 0}},
        "maxUnavailable 0 would block every drain",
    ),
    (
        "a budget of pods that Spark starts",
        POSTGRESQL
        | {
            "streaming.spark.mode": "operator",
            "streaming.podDisruptionBudget": {"enabled": True, "maxUnavailable": 1},
        },
        "streaming.podDisruptionBudget with streaming.spark.mode operator would block every drain",
    ),
    (
        "a budget of both",
        {"api.podDisruptionBudget": {"enabled": True, "minAvailable": 1, "maxUnavailable": 1}},
        "needs minAvailable or maxUnavailable, one of them",
    ),
    ("a budget of neither", {"api.podDisruptionBudget": {"enabled": True}}, "one of them"),
    (
        "a drain as long as the whole grace period",
        {"api.drainSeconds": 30},
        "api.drainSeconds 30 must be less than api.terminationGracePeriodSeconds 30",
    ),
    (
        "a drain longer than a shorter grace period",
        {"api.terminationGracePeriodSeconds": 4},
        "api.drainSeconds 5 must be less than api.terminationGracePeriodSeconds 4",
    ),
    ("an ingress without host", {"api.ingress.enabled": True}, "needs api.ingress.host"),
    ("a route without gateway", {"api.httpRoute.enabled": True}, "needs api.httpRoute.parentRefs"),
    ("no replicas", {"redrive.replicas": 0}, "/redrive/replicas"),
    ("an unknown setting", {"collector.settings": {"lgos": []}}, "/collector/settings.*'lgos' not allowed"),
    (
        "an unknown nested setting",
        {"collector.settings": {"connect": [{"url": "http://c", "jolokia": "x"}]}},
        "/collector/settings/connect/0.*'jolokia' not allowed",
    ),
    ("a setting of another type", {"redrive.settings": {"lease_ms": "5s"}}, "/redrive/settings/lease_ms"),
    ("a setting out of bounds", {"redrive.settings": {"lease_ms": 1}}, "/redrive/settings/lease_ms"),
    ("a setting that the chart sets", {"streaming.settings": {"master": "x"}}, "'master' not allowed"),
    (
        "a setting that all processes share",
        {"api.settings": {"dlq_topics": ["x"]}},
        "/api/settings.*'dlq_topics' not allowed",
    ),
    ("a secret setting that is none", {"api.secretSettings": {"x": {"name": "a", "key": "b"}}}, "'x'"),
    ("a secret setting without key", {"collector.secretSettings": {"connect": {"name": "a"}}}, "'key'"),
    ("resources that are null", {"api.resources": None}, "at '/api': missing property 'resources'"),
    ("settings of comments alone", {"collector.settings": None}, "'/collector': missing property 'settings'"),
    ("a volume's annotations that are null", {"collector.persistence.annotations": None}, "'annotations'"),
    ("no volume", {"store.sqlite": None}, "at '/store': missing property 'sqlite'"),
    ("no database", {"store.kind": "postgresql", "store.postgresql": None}, "missing property 'postgresql'"),
    ("no migrations", POSTGRESQL | {"store.migrations": None}, "missing property 'migrations'"),
    ("a monitor that is null", {"serviceMonitor": None}, "missing property 'serviceMonitor'"),
    ("a process that is null", {"redrive": None}, "at '': missing property 'redrive'"),
    ("an image without repository", {"image.repository": None}, "missing property 'repository'"),
    ("a digest that is none", {"image.digest": "sha256:1"}, "/image/digest"),
    ("a duration that is none", {"serviceMonitor.interval": "often"}, "/serviceMonitor/interval"),
    ("a limit that is none", {"api.resources.limits.memory": "much"}, "/api/resources/limits/memory"),
    (
        "an unknown severity",
        {"prometheusRule.alerts": {"A": {"severity": "page"}}},
        "/prometheusRule/alerts/A",
    ),
]


@pytest.mark.parametrize(("values", "match"), named(WRONG))
def test_a_wrong_value_is_refused_with_a_message(values: dict[str, Any], match: str) -> None:
    refused = template(MINIMAL, values=values)
    assert refused.returncode != 0
    assert re.search(match, refused.stderr, re.DOTALL), refused.stderr


def test_without_values_the_first_thing_asked_for_is_kafka() -> None:
    refused = helm("template", "dw", CHART)
    assert refused.returncode != 0
    assert "/kafka/bootstrapServers" in refused.stderr


def test_all_contradictions_are_told_at_once() -> None:
    told = template(MINIMAL, values={"api.replicas": 2, "redrive.replicas": 2}).stderr
    assert told.count("\n- ") == 2


def test_prometheus_needs_a_token_where_nothing_is_read_without_one() -> None:
    nothing = {"api.auth.anonymous": "nothing"}
    credentials = {"serviceMonitor.authorization": {"credentials": {"name": "scrape", "key": "token"}}}
    refused = template(MINIMAL, values=nothing, apis=OPERATED)
    assert refused.returncode != 0
    assert "api.auth.anonymous nothing needs serviceMonitor.authorization" in refused.stderr
    for values, apis in (
        (nothing | credentials, OPERATED),
        (nothing | {"serviceMonitor.enabled": False}, OPERATED),
        (nothing | {"api.enabled": False}, OPERATED),
        (nothing, ()),
    ):
        assert template(MINIMAL, values=values, apis=apis).returncode == 0


RIGHT: list[tuple[str, dict[str, Any]]] = [
    (
        "a budget that lets one replica go",
        {"api.podDisruptionBudget": {"enabled": True, "maxUnavailable": 1}},
    ),
    (
        "a share of several replicas",
        POSTGRESQL
        | {"redrive.replicas": 3, "redrive.podDisruptionBudget": {"enabled": True, "minAvailable": "50%"}},
    ),
    ("the least of everything", {"redrive.settings": {"lease_ms": 1000}}),
    ("a drain that leaves the last second of the grace period", {"api.drainSeconds": 29}),
    ("an IPv6 address", {"api.host": "::"}),
    (
        "what is null and not needed",
        POSTGRESQL
        | {"collector": {"enabled": False, "settings": None, "persistence": {"annotations": None}}}
        | {"networkPolicy": {"enabled": False, "egress": None}, "store.sqlite": None}
        | {"serviceAccount": {"create": False, "annotations": None}}
        | {"commonLabels": None, "api.podLabels": None},
    ),
    ("a monitor of no api", {"api.enabled": False, "serviceMonitor": None}),
]


@pytest.mark.parametrize("values", named(RIGHT))
def test_what_is_right_is_rendered(values: dict[str, Any]) -> None:
    assert template(MINIMAL, values=values).returncode == 0


def test_a_label_or_annotation_that_is_said_twice_stands_once_and_selectors_keep_theirs() -> None:
    mine = {"app.kubernetes.io/name": "x", "app.kubernetes.io/part-of": "x", "deadwatch/store": "x"}
    noted = {"checksum/config": "x"}
    names = ("commonLabels", "api.podLabels", "serviceMonitor.labels", "prometheusRule.labels")
    values = {**dict.fromkeys(names, mine), "commonAnnotations": noted, "api.podAnnotations": noted}
    text = template(MINIMAL, values=values, apis=OPERATED).stdout
    made = list(yaml.load_all(text, Loader))
    pod = one(made, "Deployment", "api")["spec"]["template"]["metadata"]
    assert [pod["labels"][name] for name in mine] == ["deadwatch", "x", "dw-deadwatch"]
    assert pod["annotations"]["checksum/config"] != "x"
