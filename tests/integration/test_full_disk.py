"""A disk that is full, of the store and of the checkpoint: said in one line; nothing is lost, twice, half."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import insert

from api.auth.role import Role
from api.settings import ApiSettings
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store import schema
from deadwatch.store.store import Store
from deadwatch.store.write.audit import unwitnessed
from lab import Lab
from lab.topics import Topics
from streaming.failure import DISK_FULL
from tests.console_store import empty_row
from tests.integration.streaming_process import Streaming, Traffic, eventually, settle
from tests.names import fresh
from tests.operators import operator

STORE_FULL = "the store does not work, its disk is full: make room there; the query waits for it"
SIZE = "16m"


class Disk:
    """A file system of its own, small enough to be filled."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._filler = place / "filler"

    def fill(self) -> None:
        """Leave not a byte."""
        with self._filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 12))
            except OSError:
                return

    def make_room(self) -> None:
        """Take away what fills it."""
        self._filler.unlink()


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Disk]]:
    """Mounts as many as are asked for."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("a full disk needs a file system of its own: apt-get install mount")
    made: list[Path] = []

    def disk(name: str) -> Disk:
        place = tmp_path / name
        place.mkdir()
        done = subprocess.run(
            [mount, "-t", "tmpfs", "-o", f"size={SIZE},mode=0755,uid={os.getuid()}", "tmpfs", str(place)],
            check=False,
            capture_output=True,
        )
        if done.returncode:
            pytest.skip("a full disk needs a file system of its own, and this user may not mount one")
        made.append(place)
        return Disk(place)

    yield disk
    for place in made:
        subprocess.run([umount, "--lazy", str(place)], check=True)  # a client may not have let go of it yet


@pytest.mark.chaos
def test_full_disks_of_store_and_checkpoint_are_waited_for(
    lab: Lab, traffic: Traffic, mounted: Callable[[str], Disk], tmp_path: Path
) -> None:
    of_store, of_checkpoint = mounted("store"), mounted("checkpoint")
    streaming = Streaming(
        *(lab.bootstrap_servers, traffic, tmp_path, f"sqlite:///{of_store.place / 'deadwatch.db'}"),
        checkpoint=of_checkpoint.place / "checkpoint",
    )
    traffic.write()
    with streaming.running():
        settle(streaming, traffic)
        for disk, line in ((of_store, STORE_FULL), (of_checkpoint, DISK_FULL)):
            disk.fill()
            traffic.write()
            assert eventually(lambda: line in streaming.log()), streaming.log()  # noqa: B023 -- called at once
            traffic.write()
            disk.make_room()
            settle(streaming, traffic)
    traffic.write(1)
    with streaming.running():  # the checkpoint was left as it should be
        settle(streaming, traffic)
    assert "cannot be used" not in streaming.log()
    assert "Traceback" not in streaming.log()


RECORDS = 600
"""Of the dead letter topic: each order takes one of its own."""


class Desk:
    """Asks the api for tokens, orders and notes in turn; remembers what was accepted."""

    def __init__(self, client: TestClient, dlq_topic: str) -> None:
        self._client, self._dlq_topic = client, dlq_topic
        self._number = 0
        self.tokens: set[str] = set()
        self.orders: set[str] = set()
        self.notes: list[str] = []

    def ask(self) -> bool:
        """One of each; whether all were accepted."""
        self._number += 1
        number, comment = self._number, f"seen {self._number} times, {'x' * 500}"
        token = self._client.post("/api/v1/tokens", json={"name": f"t{number}", "role": "viewer"})
        order = self._client.post("/api/v1/redrives", json=self._order(number))
        note = self._client.put("/api/v1/dead-letters/groups/f1/note", json={"owner": "", "comment": comment})
        if token.status_code == HTTPStatus.CREATED:
            self.tokens.add(token.json()["id"])
        if order.status_code == HTTPStatus.ACCEPTED:
            self.orders.add(order.json()["id"])
        if note.status_code == HTTPStatus.OK:
            self.notes.append(comment)
        refused = [one for one in (token, order, note) if not one.is_success]
        assert {one.status_code for one in refused} <= {HTTPStatus.SERVICE_UNAVAILABLE}, refused[0].text
        assert all("its disk is full: make room there" in one.json()["detail"] for one in refused)
        return not refused

    def _order(self, number: int) -> dict[str, object]:
        return {
            "dlq_topic": self._dlq_topic,
            "selection": {"offsets": {"0": [number, number + 1]}},
            "target": {"kind": "topic", "topic": "orders"},
            "dry_run": False,
            "reason": "fixed",
        }


def admin(app: Any) -> str:  # noqa: ANN401 -- the client names no better type
    _, credential = app.state.service.tokens.create("root", Role.ADMIN, 0, "root", unwitnessed)
    return str(credential.text)


@pytest.mark.chaos
def test_what_the_api_accepts_on_a_full_disk_is_there_afterwards_and_what_it_refuses_is_not(
    lab: Lab, mounted: Callable[[str], Disk], tmp_path: Path
) -> None:
    disk = mounted("store")
    file, dlq_topic = disk.place / "deadwatch.db", fresh("full-") + ".dlq"
    topics = Topics(lab.bootstrap_servers)
    topics.create(dlq_topic, partitions=1)
    topics.produce(dlq_topic, [b"v"] * RECORDS)
    kafka = KafkaConnection(bootstrap_servers=lab.bootstrap_servers)
    settings = ApiSettings(store_url=f"sqlite:///{file}", kafka=kafka)
    with Store(settings.store_url) as store:
        with store._engine.begin() as connection:
            connection.execute(
                insert(schema.groups).values({**empty_row(schema.groups), "fingerprint": "f1"})
            )
        with operator(settings, tmp_path) as client:
            client.headers["Authorization"] = f"Bearer {admin(client.app)}"
            desk = Desk(client, dlq_topic)
            for _ in range(3):
                assert desk.ask()
                disk.fill()
                asked = 0
                while desk.ask():
                    asked += 1
                    assert asked < RECORDS / 4, "a full disk takes everything"
                assert client.get("/readyz").status_code == HTTPStatus.OK  # it can be read
                disk.make_room()
            assert desk.ask()
    require_kept(file, desk)


def require_kept(file: Path, desk: Desk) -> None:
    """What was accepted, with its entry in the audit, and nothing else."""
    with closing(sqlite3.connect(file)) as connection:

        def found(query: str) -> set[object]:
            return {row[0] for row in connection.execute(query)}

        assert found("PRAGMA integrity_check") == {"ok"}
        assert found("SELECT id FROM tokens WHERE name != 'root'") == desk.tokens
        assert found("SELECT id FROM redrive_orders") == desk.orders
        assert found("SELECT comment FROM dead_letter_group_notes") == {desk.notes[-1]}
        done = "SELECT subject FROM audit WHERE outcome = 'done' AND action = '{}'"
        assert found(done.format("tokens.create")) == desk.tokens
        assert found(done.format("redrives.create")) == desk.orders
        notes = "SELECT count(*) FROM audit WHERE outcome = 'done' AND subject = 'f1'"
        assert found(notes) == {len(desk.notes)}
