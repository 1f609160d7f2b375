"""Who may look at payloads is who may ask about them: a filter tells what it matches."""

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

from api.app import create_app
from api.audit import FILTERED
from api.auth.role import Role
from api.settings import ApiSettings
from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.write.audit import unwitnessed
from tests.caller import Caller
from tests.unit.api.answers import problem

ASKING = 'value.contains("4111")'
FILTERS = [
    ASKING,
    'key == "ada"',
    'headers.get("tenant") == "acme"',
    'headers.exists(name, name == "x")',
]
POLICIES, REDRIVES, RECORDS = "/api/v1/redrive-policies", "/api/v1/redrives", "/api/v1/dead-letters/records"


class Away:
    """Kafka, which does not answer."""

    def page(self, *_: object) -> NoReturn:
        raise KafkaUnavailableError("Kafka is away")


@pytest.fixture
def callers(store_url: str) -> Iterator[Callable[[Role], Caller]]:
    """Clients of an api where payloads are for admins."""
    nobody = KafkaConnection(bootstrap_servers="127.0.0.1:1")
    app = create_app(ApiSettings(store_url=store_url, unmask_role="admin", kafka=nobody))
    app.state.service.browser = Away()
    desk = app.state.service.tokens

    def client(role: Role) -> Caller:
        _, credential = desk.create(role, role, 0, "root", unwitnessed)
        sent = {"Authorization": f"Bearer {credential.text}"}
        return Caller(app, "http://127.0.0.1", peer="testclient", headers=sent, raising=False)

    yield client
    desk.close()


def policy(expression: str, **changed: object) -> dict[str, Any]:
    return {
        "dlq_topics": ["dlq.t"],
        "filter": expression,
        "include_existing": True,
        "reason": "r",
        **changed,
    }


def order(expression: str, **changed: object) -> dict[str, Any]:
    return {"dlq_topic": "dlq.t", "selection": {"filter": expression}, "reason": "r", **changed}


@pytest.mark.parametrize("expression", FILTERS)
def test_a_filter_over_payloads_needs_the_role_wherever_it_is_taken(
    callers: Callable[[Role], Caller], expression: str
) -> None:
    operator = callers(Role.OPERATOR)
    answers = [
        operator.post(REDRIVES, json=order(expression)),
        operator.post(REDRIVES, json=order(expression, dry_run=False)),
        operator.post(POLICIES, json=policy(expression)),
        operator.get(RECORDS, params={"topic": "dlq.t", "filter": expression}),
        operator.get(f"{RECORDS}/download", params={"topic": "dlq.t", "filter": expression}),
    ]
    assert [answer.status_code for answer in answers] == [403] * len(answers)


def test_who_has_the_role_and_other_filters_are_let_in(callers: Callable[[Role], Caller]) -> None:
    assert callers(Role.ADMIN).post(POLICIES, json=policy(ASKING)).status_code == 201
    assert callers(Role.OPERATOR).post(POLICIES, json=policy("value_size > 3")).status_code == 201


def test_an_operator_switches_a_policy_off_whose_filter_is_not_for_them(
    callers: Callable[[Role], Caller],
) -> None:
    admin, operator = callers(Role.ADMIN), callers(Role.OPERATOR)
    path = f"{POLICIES}/{admin.post(POLICIES, json=policy(ASKING)).json()['id']}"
    assert operator.put(path, json=policy(ASKING, enabled=False)).json()["enabled"] is False
    assert operator.put(path, json=policy('value.contains("4112")')).status_code == 403
    assert operator.put(path, json=policy("true")).status_code == 200
    assert operator.put(path, json=policy(ASKING)).status_code == 403


def test_a_filter_over_payloads_is_in_the_audit_before_its_answer(
    callers: Callable[[Role], Caller],
) -> None:
    admin = callers(Role.ADMIN)
    asking = f'"{"x" * 2_000}" != "" && {ASKING}'
    for path in (RECORDS, f"{RECORDS}/download"):
        assert admin.get(path, params={"topic": "dlq.t", "filter": asking}).status_code == 503
        admin.get(path, params={"topic": "dlq.t", "filter": "true"})
    kept = admin.get("/api/v1/audit", params={"action": FILTERED}).json()["items"]
    assert [(entry["subject"], entry["why"]) for entry in kept] == [("dlq.t", f"filter: {asking}")] * 2


def test_a_look_at_payloads_says_why(callers: Callable[[Role], Caller]) -> None:
    admin = callers(Role.ADMIN)
    for path in ("/api/v1/dead-letters/groups/f", f"{RECORDS}/dlq.t/0/0", f"{RECORDS}/dlq.t/0/1"):
        for why in ("", "   "):
            answer = admin.get(path, params={"unmasked": True, "why": why})
            assert problem(answer) == "422 invalid-request", path
            assert "say why" in answer.json()["detail"]
