"""What comes back is noticed: an order in a loop pauses, and a policy tries again, then parks.

The whole way is real: ``python -m streaming`` counts, ``python -m redrive`` moves and looks at the
policies, the api is asked, and a consumer that fails writes its dead letters as Connect does.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import Lab
from tests.integration.redrive_loop import WITHIN_S, Service, failing
from tests.integration.redrive_place import once, ours
from tests.kafka_topics import make_anew
from tests.names import fresh
from tests.waiting import until

LETTERS, NEW = 1_200, 5
CLASS = "__connect.errors.exception.class.name"


@pytest.fixture(scope="module")
def counting(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(lab, tmp_path_factory.mktemp("service"))
    with made.streaming.running(), made.api:
        yield made


@pytest.fixture
def service(counting: Service) -> Service:
    """About topics of the test's own."""
    counting.at(fresh())
    return counting


@pytest.fixture
def worker(service: Service) -> Iterator[None]:
    with service.worker():
        yield


@pytest.mark.usefixtures("worker")
def test_an_order_whose_records_come_back_pauses_and_after_a_resume_only_new_ones_count(
    service: Service,
) -> None:
    place = service.place
    place.letters(200)
    until(lambda: counted(service) == 200, within_s=WITHIN_S)
    with failing(place, lambda _: True):
        order = service.ask(
            "redrives",
            dlq_topic=place.dlq,
            selection={"all": True},
            retry={"retry_backoff_ms": 0},
            limits={"records_per_second": 4},
            dry_run=False,
        )
        path = f"redrives/{order['id']}"
        until(lambda: service.tell(path)["status"] == "PAUSED", within_s=WITHIN_S)
        until(lambda: (told := service.tell(path))["bounced"] == told["moved"] >= 20, within_s=WITHIN_S)
    paused = service.tell(path)
    assert "records came back" in paused["status_reason"]
    assert "fix the cause, then resume" in paused["status_reason"]
    assert (paused["settled"], paused["moved"] < 200) == (0, True)
    service.ask(f"{path}/resume")
    until(lambda: service.tell(path)["moved"] >= paused["moved"] + 20, within_s=WITHIN_S)
    assert service.tell(path)["status"] == "RUNNING"
    service.ask(f"{path}/cancel")


@pytest.mark.usefixtures("worker")
def test_a_policy_redrives_what_arrives_and_parks_what_still_fails(service: Service) -> None:
    place = service.place
    place.letters(3)
    policy = service.ask(
        "redrive-policies",
        dlq_topics=[place.dlq],
        exclude_error_classes=["a.b.SerializationException"],
        retry={"max_attempts": 2, "retry_backoff_ms": 0},
        guards={"settle_window_ms": 0},
    )
    path = f"redrive-policies/{policy['id']}"
    parked_topic = f"{place.dlq}.parked"
    with failing(place, lambda record: record.value == b"value-4"):
        place.letters(5)
        place.letters(1, headers=[(CLASS, b"a.b.SerializationException")])
        until(lambda: len(place.read(parked_topic)) == 2, within_s=WITHIN_S)
    told = [
        (ours(one)["parked-reason"], ours(one)["attempts"], one.value) for one in place.read(parked_topic)
    ]
    assert sorted(told) == [("attempts_used_up", "2", b"value-4"), ("error_class_excluded", "0", b"value-0")]
    arrived = sorted(record.value or b"" for record in place.read())
    assert arrived == [b"value-0", b"value-1", b"value-2", b"value-3", b"value-4", b"value-4"]
    until(
        lambda: counts(service, path) == {"moved": 6, "bounced": 2, "parked": 2, "skipped": 0},
        within_s=WITHIN_S,
    )
    until(lambda: {one["status"] for one in redrives(service, path)} == {"COMPLETED"}, within_s=WITHIN_S)
    assert {one["policy"] for one in redrives(service, path)} == {policy["id"]}
    until(lambda: sum(one["settled"] for one in redrives(service, path)) >= 4, within_s=WITHIN_S)
    assert service.tell(path)["dlq_topics"] == [place.dlq]
    until(lambda: service.tell(path)["status_reason"] is None)  # Kafka may have kept a look waiting


@pytest.mark.usefixtures("worker")
def test_a_policy_reads_a_topic_that_was_made_anew_from_its_beginning(service: Service) -> None:
    place = service.place
    place.letters(6)
    service.ask("redrive-policies", dlq_topics=[place.dlq], retry={"retry_backoff_ms": 0})
    make_anew(place.servers, place.dlq)
    place.letters(9)
    until(lambda: len(place.read()) == 9, lambda: str(place.read()), within_s=WITHIN_S)


def test_no_record_is_moved_twice_unless_that_is_asked_for(service: Service) -> None:
    place = service.place
    place.letters(LETTERS)
    until(lambda: counted(service) == LETTERS, within_s=WITHIN_S)
    with service.worker() as killed:
        limits = {"records_per_second": 400, "max_in_flight": 50}
        first = service.redrive(dry_run=False, limits=limits)
        until(lambda: len(place.read()) > LETTERS // 4, within_s=WITHIN_S)
        killed.kill()
    with service.worker():
        path = f"redrives/{first['id']}"
        worked_off(service, first)
        until(lambda: service.tell(path)["moved"] == LETTERS, within_s=WITHIN_S)  # streaming has read of it
        dry = service.redrive()["plan"]
        assert (dry["to_move"], dry["skip_reasons"]) == (0, {"already_moved": LETTERS}), dry["warnings"]
        refused = service.redrive(dry_run=False)
        assert refused["type"] == "urn:deadwatch:problem:redrive-refused"
        assert f"all {LETTERS} records of the selection were moved or parked already" in refused["detail"]
        told = service.tell(path)
        assert (told["moved"], told["skipped"]) == (LETTERS, 0)  # also what the killed worker has moved

        place.letters(NEW)
        rest = service.redriven(selection={"filter": "offset >= 0"})
        assert (rest["moved"], rest["skip_reasons"]) == (NEW, {"already_moved": LETTERS})
        chosen = [{"partition": 0, "offset": offset} for offset in range(NEW)]
        twice = service.redriven(selection={"records": chosen}, again=True)
        assert (twice["moved"], twice["skip_reasons"]) == (NEW, {})

        place.letters(NEW)
        policy = service.ask("redrive-policies", dlq_topics=[place.dlq], include_existing=True)
        path = f"redrive-policies/{policy['id']}"
        until(lambda: counts(service, path)["moved"] == NEW, within_s=WITHIN_S)
        service.api.delete(f"/api/v1/{path}")
    sent: dict[str, Counter[bytes | None]] = defaultdict(Counter)
    for record in place.read():
        sent[ours(record)["id"]][record.value] += 1
    (of_policy,) = sent.keys() - {first["id"], rest["id"], twice["id"]}
    assert sent[first["id"]] == once(LETTERS)
    assert sent[rest["id"]] == sent[of_policy] == once(NEW)
    assert sent[twice["id"]].total() == NEW


def test_what_streaming_has_not_read_is_not_known(lab: Lab, tmp_path: Path) -> None:
    """Nobody streams: the second order is refused, unless it asks for what was moved before."""
    service = Service(lab, tmp_path)
    place = service.place
    place.letters(NEW)
    with service.api, service.worker():
        worked_off(service, service.redrive(dry_run=False))
        refused = service.redrive(dry_run=False)
        assert refused["type"] == "urn:deadwatch:problem:redrive-history-unread"
        assert "start streaming or wait until it has caught up" in refused["detail"]
        worked_off(service, service.redrive(dry_run=False, again=True))
        (warning,) = (one for one in service.redrive()["plan"]["warnings"] if "streaming" in one)
        assert warning.startswith("streaming has not read ")
    assert len(place.read()) == 2 * NEW


def worked_off(service: Service, order: Any) -> None:  # noqa: ANN401 -- JSON
    until(lambda: service.tell(f"redrives/{order['id']}")["status"] == "COMPLETED", within_s=WITHIN_S)


def redrives(service: Service, policy: str) -> list[Any]:
    found: list[Any] = service.tell(f"{policy}/redrives")["items"]
    return found


def counted(service: Service) -> int:
    """Dead letters of the place that streaming has seen."""
    items = service.tell("dead-letters/topics")["items"]
    return sum(one["records"] for one in items if one["dlq_topic"] == service.place.dlq)


def counts(service: Service, path: str) -> dict[str, int]:
    """Of all redrives of a policy."""
    items = redrives(service, path)
    return {name: sum(one[name] for one in items) for name in ("moved", "bounced", "parked", "skipped")}
