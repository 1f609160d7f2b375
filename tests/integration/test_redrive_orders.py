"""Redrive orders asked for over the api, judged and read through on a real broker."""

import getpass
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from fastapi.testclient import TestClient
from sqlalchemy import insert

from api.auth.role import Role
from api.settings import ApiSettings
from deadwatch.deadletter.record import parse_record
from deadwatch.orders.options import next_step
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store import schema
from deadwatch.store.engine import connect
from deadwatch.store.store import Store
from lab import Lab
from lab.topics import Topics
from redrive.plan.creation import GROUP
from tests.kafka_topics import Headers, connect_headers, make_anew, produce_unreadable, producing, undone
from tests.names import fresh
from tests.operators import operator
from tests.tables import named

MOVABLE, HOMELESS, GONE = 10, 3, 2

ME = f"{getpass.getuser()} (local)"


@dataclass(frozen=True)
class Place:
    """A dead letter topic of two partitions, and the topic its records come from."""

    dlq: str
    source: str
    bootstrap_servers: str

    def headers(self, topic: str, number: int) -> Headers:
        told = {"connector_name": "sink", "exception_class_name": "a.b.DataException"}
        return connect_headers(topic, number % 3, number, **told, exception_message=f"failed at {number}")

    def fail(self, count: int, topic: str | None = None) -> None:
        with producing(self.bootstrap_servers) as producer:
            for number in range(count):
                headers = self.headers(self.source if topic is None else topic, number)
                producer.produce(self.dlq, b"v%d" % number, b"k%d" % number, number % 2, headers=headers)

    def abort(self, count: int) -> None:
        """Records of a transaction that never was."""
        with undone(self.bootstrap_servers) as producer:
            for number in range(count):
                producer.produce(self.dlq, b"x", headers=self.headers(self.source, number), partition=0)


def made(lab: Lab) -> Place:
    name = fresh()
    place = Place(f"dlq.{name}", f"orders-{name}", lab.bootstrap_servers)
    topics = Topics(lab.bootstrap_servers)
    topics.create(place.dlq, partitions=2)
    topics.create(place.source, partitions=3)
    place.fail(MOVABLE)
    place.abort(4)
    place.fail(GONE, f"gone-{name}")
    topics.produce(place.dlq, [b"no headers"] * HOMELESS)
    return place


@pytest.fixture(scope="module")
def place(lab: Lab) -> Place:
    """Of all tests that write nothing there."""
    return made(lab)


@pytest.fixture
def api(serve: Callable[..., TestClient]) -> Callable[..., TestClient]:
    """To an operator."""
    return partial(serve, Role.OPERATOR)


@pytest.fixture(scope="module")
def client(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Of all tests whose requests leave nothing behind that another test would see."""
    directory = tmp_path_factory.mktemp("api")
    with Store(url := f"sqlite:///{directory / 'deadwatch.db'}"):
        pass
    kafka = KafkaConnection(bootstrap_servers=lab.bootstrap_servers)
    opened = operator(ApiSettings(store_url=url, kafka=kafka), directory)
    yield opened
    opened.close()


def ask(client: TestClient, place: Place, **changes: object) -> Any:  # noqa: ANN401 -- JSON
    body = {"dlq_topic": place.dlq, "selection": {"all": True}, "reason": "fixed", **changes}
    answer = client.post("/api/v1/redrives", json=body)
    return answer.status_code, answer.json()


def test_a_dry_run_tells_what_would_go_where_and_moves_no_offset(
    lab: Lab, place: Place, client: TestClient
) -> None:
    status, told = ask(client, place)
    seen = [told[name] for name in ("status", "dry_run", "to_move", "moved")]
    assert (status, *seen) == (202, "COMPLETED", True, MOVABLE, 0)
    plan = told["plan"]
    assert plan["targets"] == {place.source: MOVABLE}
    assert plan["skip_reasons"] == {"no_origin": HOMELESS, "target_missing": GONE}
    assert (plan["read"], plan["at_least"]) == (MOVABLE + HOMELESS + GONE, False)
    assert plan["estimated_ms"] == MOVABLE * 1_000 // 50
    going = [one for one in plan["examples"] if not one["skip_reason"]]
    assert {one["target_topic"] for one in going} == {place.source}
    assert all(one["target_partition"] in {0, 1, 2} for one in going)
    kafka = AdminClient({"bootstrap.servers": lab.bootstrap_servers})  # one that nobody holds answers nothing
    groups = kafka.list_consumer_groups().result(30)
    assert GROUP not in {one.group_id for one in groups.valid}


@pytest.mark.parametrize(
    ("selection", "to_move"),
    [
        ({"filter": 'source_topic.startsWith("orders-") && message.matches("at [0-4]$")'}, 5),
        ({"filter": 'headers.get("none") == "" && connector == "sink"'}, MOVABLE),
        ({"offsets": {"0": (1, 3)}}, 2),
        ({"records": [{"partition": 1, "offset": 0}, {"partition": 1, "offset": 4}]}, 2),
        ({"to": "2001-01-01T00:00:00Z"}, 0),
        ({"from": "2001-01-01T00:00:00Z"}, MOVABLE),
    ],
)
def test_a_selection_is_what_it_says(
    place: Place, client: TestClient, selection: dict[str, object], to_move: int
) -> None:
    assert ask(client, place, selection=selection)[1]["to_move"] == to_move


def test_a_group_is_its_fingerprint_and_has_to_be_known(
    place: Place, api: Callable[..., TestClient], url: str
) -> None:
    fingerprint = parse_record(place.dlq, 0, 0, 0, None, None, place.headers(place.source, 0)).fingerprint  # type: ignore[arg-type]  # only bytes
    selection = {"group": fingerprint}
    status, told = ask(api(), place, selection=selection)
    assert (status, told["type"]) == (422, "urn:deadwatch:problem:redrive-refused")
    assert f"no group of dead letters on {place.dlq} has the fingerprint {fingerprint}" in told["detail"]
    row = {column.name: 0 if "ms" in column.name else "" for column in schema.groups.c}
    with connect(url).begin() as connection:
        connection.execute(
            insert(schema.groups), {**row, "fingerprint": fingerprint, "dlq_topic": place.dlq, "records": 1}
        )
    assert ask(api(), place, selection=selection)[1]["to_move"] == MOVABLE


def test_a_dry_run_names_the_records_whose_headers_cannot_be_read(lab: Lab, client: TestClient) -> None:
    place = made(lab)
    produce_unreadable(lab.bootstrap_servers, place.dlq, 0, place.headers(place.source, 0), 50)
    status, told = ask(client, place, target={"kind": "topic", "topic": place.source})
    assert (status, told["to_move"]) == (202, MOVABLE + HOMELESS + GONE)
    assert told["plan"]["skip_reasons"] == {"headers_unreadable": 50}


def test_what_arrives_after_the_order_is_not_part_of_it(lab: Lab, client: TestClient) -> None:
    place = made(lab)
    before = ask(client, place)[1]
    place.fail(4)
    after = ask(client, place)[1]
    assert (before["to_move"], after["to_move"]) == (MOVABLE, MOVABLE + 4)
    assert sum(after["cut_off"].values()) == sum(before["cut_off"].values()) + 4
    shown = {"dry_run": False, "confirm": before["plan"]["at_most"]}
    status, told = ask(client, place, **shown)
    assert (status, told["type"]) == (409, "urn:deadwatch:problem:redrive-unconfirmed")
    status, order = ask(client, place, **shown, cut_off=before["cut_off"])
    assert (status, order["to_move"], order["cut_off"]) == (202, MOVABLE, before["cut_off"])
    client.post(f"/api/v1/redrives/{order['id']}/cancel")


def test_an_order_after_the_dry_run_of_a_topic_that_was_made_anew_is_refused(
    lab: Lab, client: TestClient
) -> None:
    place = made(lab)
    tried = ask(client, place)[1]
    status, order = ask(client, place, **next_step(tried))
    assert (status, order["dlq_topic_id"]) == (202, tried["dlq_topic_id"])
    client.post(f"/api/v1/redrives/{order['id']}/cancel")
    make_anew(lab.bootstrap_servers, place.dlq)
    place.fail(5 * MOVABLE)
    status, told = ask(client, place, **next_step(tried))
    assert (status, told["type"]) == (422, "urn:deadwatch:problem:redrive-refused")
    assert told["detail"] == f"topic {place.dlq} was made anew since the dry run; look at a new dry run"
    assert ask(client, place)[1]["dlq_topic_id"] != tried["dlq_topic_id"]


def test_an_order_is_confirmed_kept_alone_and_stopped(place: Place, api: Callable[..., TestClient]) -> None:
    client = api(redrive_max_unconfirmed=5)
    status, told = ask(client, place, dry_run=False)
    assert (status, told["type"]) == (409, "urn:deadwatch:problem:redrive-unconfirmed")
    assert told["at_most"] == MOVABLE
    assert ask(client, place, dry_run=False, confirm=MOVABLE - 1)[0] == 409
    status, order = ask(client, place, dry_run=False, confirm=MOVABLE)
    assert (status, order["status"], order["requested_by"]) == (202, "RUNNING", ME)
    status, told = ask(client, place, dry_run=False, confirm=MOVABLE)
    assert (status, told["type"]) == (409, "urn:deadwatch:problem:redrive-in-progress")
    assert order["id"] in told["detail"]
    assert ask(client, place)[0] == 202  # a dry run is nobody's rival
    stopped = client.post(f"/api/v1/redrives/{order['id']}/cancel").json()
    assert (stopped["status"], stopped["status_reason"]) == ("CANCELLED", f"cancelled by {ME}")
    assert ask(client, place, dry_run=False, confirm=MOVABLE)[0] == 202


def test_a_key_makes_one_order(place: Place, client: TestClient) -> None:
    body = {"dlq_topic": place.dlq, "selection": {"all": True}, "reason": "fixed"}
    key = {"Idempotency-Key": "k1"}
    first, second = (client.post("/api/v1/redrives", json=body, headers=key).json() for _ in range(2))
    assert first["id"] == second["id"]
    other = client.post("/api/v1/redrives", json={**body, "reason": "other"}, headers=key)
    assert (other.status_code, other.json()["type"]) == (422, "urn:deadwatch:problem:idempotency-key-reused")


REFUSED: list[tuple[str, dict[str, object], str]] = [
    (
        "nothing matches",
        {"selection": {"filter": "attempts > 7"}},
        "matches none of the 15 records read from",
    ),
    (
        "nothing can be told",
        {"selection": {"filter": 'headers["gone"] == "x"'}},
        'the filter could not be evaluated: NOT_FOUND: Key not found in map : "gone" (15 times)',
    ),
    (
        "all would stay",
        {"selection": {"filter": 'source_topic == ""'}},
        "every record of the selection would be skipped: no_origin 3",
    ),
    ("no such topic", {"dlq_topic": "dlq.nobody"}, "topic dlq.nobody does not exist"),
    ("a partition too many", {"selection": {"offsets": {"2": (0, 1)}}}, "it has 2, counted from 0"),
]
"""What Kafka has to be asked for; the other refusals stand in tests/unit/redrive/plan/test_admission.py."""


@pytest.mark.parametrize(("changes", "detail"), named(REFUSED))
def test_what_cannot_be_carried_out_is_refused_in_one_sentence(
    place: Place, client: TestClient, changes: dict[str, object], detail: str
) -> None:
    status, told = ask(client, place, **{"dry_run": False, **changes})
    assert (status, detail in told["detail"], told["detail"]) == (422, True, told["detail"])


def test_what_lies_between_single_records_is_not_read(lab: Lab, client: TestClient) -> None:
    place = made(lab)
    place.fail(6_000)
    chosen = [{"partition": 0, "offset": offset} for offset in (0, 1_500, 1_501, 2_990)]
    plan = ask(client, place, selection={"records": chosen})[1]["plan"]
    assert (plan["to_move"], plan["at_least"]) == (len(chosen), False)
    assert plan["read"] < 100


def test_a_reading_that_is_cut_short_says_so(place: Place, api: Callable[..., TestClient]) -> None:
    plan = ask(api(redrive_scan_max_records=4), place)[1]["plan"]
    assert (plan["read"], plan["at_least"]) == (4, True)
    assert plan["at_most"] > MOVABLE + HOMELESS + GONE  # markers of transactions are offsets, too


def test_a_kafka_that_does_not_answer_is_said(place: Place, api: Callable[..., TestClient]) -> None:
    status, told = ask(api(kafka=KafkaConnection(bootstrap_servers="127.0.0.1:1")), place)
    assert (status, told["type"]) == (503, "urn:deadwatch:problem:kafka-unavailable")
    assert "Kafka at 127.0.0.1:1 does not tell its topics" in told["detail"]
