"""Who uses the service while its processes are killed: each an endless row of small acts, in a thread."""

import json
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from cli.api_client import PREFIX, Api, NoAnswerError, RefusedError
from deadwatch.store.engine import parse_url
from tests.chaos.deployment import Deployment
from tests.chaos.exchanges import WITHIN_S, Client
from tests.chaos.traffic import DLQ_TOPIC
from tests.kafka_topics import ends

PAUSE_S = 0.3
"""Between two acts of one of them, at most."""
CONFLICT = 409
REFUSED = (401, 429)
"""With a token that is not valid, and with too many of them."""
MOST_TOKENS = 100
LEAST_RECORDS = 20
"""Of an order, so that there is something to move among them."""
LATE_S = 5
"""So long after it live events may tell that the store was away."""
BACKUP = (
    "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=30).execute('VACUUM INTO ?', (sys.argv[2],))"
)
Act = Callable[[], None]


@contextmanager
def acting(*acts: Act, rng: Random) -> Iterator[None]:
    """All of them at once, over and over; what one of them fails with is raised at the end."""
    stop = threading.Event()

    def repeat(act: Act, own: Random) -> None:
        while not stop.wait(own.uniform(0, PAUSE_S)):
            with suppress(RefusedError, httpx2.TransportError):  # the book has it, and judges
                act()

    with ThreadPoolExecutor(len(acts)) as pool:
        acted = [pool.submit(repeat, act, Random(rng.random())) for act in acts]
        try:
            yield
        finally:
            stop.set()
    for one in acted:
        one.result()


@dataclass
class Admin:
    """Makes tokens, uses those that there are, and revokes some."""

    place: Deployment
    rng: Random
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._api = self.place.api()

    def act(self) -> None:
        """Make one; use or revoke another."""
        made = self._api.post("/tokens", {"name": f"made {uuid.uuid4()}", "role": "viewer"})
        self.tokens[made["id"]] = made["token"]
        chosen = self.rng.choice(list(self.tokens))
        with Client(self.place.book, self.place.url, self.tokens[chosen]) as its:
            Api(its).get("/me")
        if len(self.tokens) > MOST_TOKENS or self.rng.random() < 0.5:
            self._revoke(chosen, self.tokens.pop(chosen))

    def _revoke(self, token: str, text: str) -> None:
        self._api.delete(f"/tokens/{token}")
        with Client(self.place.book, self.place.url, text, REFUSED) as its:
            opened = its.get(f"{PREFIX}/me").is_success
        assert not opened, f"the token {token} was revoked and opens all the same"


@dataclass
class Commenter:
    """Says something of causes, and puts them aside."""

    place: Deployment
    rng: Random

    def __post_init__(self) -> None:
        self._api = self.place.api()

    def act(self) -> None:
        """Look for a cause and change its note."""
        groups = self._api.get("/dead-letters/groups", limit=50, shelf="all")["items"]
        if not groups:
            return
        path = f"/dead-letters/groups/{self.rng.choice(groups)['fingerprint']}"
        match self.rng.randrange(3):
            case 0:
                self._api.post(f"{path}/archive", {"reason": "fixed"})
            case 1:
                self._api.post(f"{path}/unarchive")
            case _:
                version = self._api.get(f"{path}/note")["version"]
                self._api.put(f"{path}/note", {"owner": "ann", "comment": str(uuid.uuid4())}, f'"{version}"')


@dataclass
class Operator:
    """Orders redrives, each of records that no order has named before; pauses, resumes and cancels them.

    What has no answer is asked for again with the same key.
    """

    place: Deployment
    rng: Random
    active: list[str] = field(default_factory=list)
    unsure: tuple[str, dict[str, Any]] | None = None
    named: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._api = self.place.api(CONFLICT)  # an order that is over can no more be paused

    def act(self) -> None:
        """Order, or change one of the last orders."""
        if self.unsure or not self.active or self.rng.random() < 0.3:
            self._order()
            return
        order = self.rng.choice(self.active[-5:])
        deed = self.rng.choice(("pause", "resume", "resume", "cancel"))
        self._api.post(f"/redrives/{order}/{deed}")

    def _order(self) -> None:
        self.unsure = self.unsure or self._next()
        if self.unsure is None:
            return
        key, body = self.unsure
        self.active.append(self._api.post("/redrives", body, key)["id"])
        self.unsure = None

    def _next(self) -> tuple[str, dict[str, Any]] | None:
        offsets = {}
        for partition, end in ends(self.place.traffic.bootstrap_servers, DLQ_TOPIC).items():
            first = self.named[partition]
            if end - first >= LEAST_RECORDS:
                self.named[partition] = min(end, first + self.rng.randrange(LEAST_RECORDS, 80))
                offsets[str(partition)] = [first, self.named[partition]]
        if not offsets:
            return None
        body = {
            "dlq_topic": DLQ_TOPIC,
            "selection": {"offsets": offsets},
            "limits": {"records_per_second": self.rng.choice((None, 20, 60))},
            "reason": "fixed",
            "dry_run": False,
        }
        return str(uuid.uuid4()), body


@dataclass
class Reader:
    """Reads what people read."""

    place: Deployment
    rng: Random
    paths: tuple[str, ...] = (
        "/overview",
        "/dead-letters/topics",
        "/redrives",
        "/tokens",
        "/audit",
        "/abandoned",
        "/tasks",
        "/delivery-timeouts",
        "/series?metric=deadwatch_dead_letter_queue_records_total",
    )

    def __post_init__(self) -> None:
        self._client = self.place.client()

    def act(self) -> None:
        """One of them."""
        self._client.get(PREFIX + self.rng.choice(self.paths))


@dataclass
class Scraper:
    """Prometheus, as often as it can."""

    place: Deployment

    def __post_init__(self) -> None:
        self._client = self.place.client()

    def act(self) -> None:
        """One scrape, which has to be of the whole store."""
        began_s = time.monotonic()
        if "\ndeadwatch_store_up 1.0\n" not in self._client.get("/metrics").text:
            self.place.book.remark("a scrape could not read the store", began_s)


@dataclass
class Watcher:
    """Watches the live events until the stream ends, and begins again."""

    place: Deployment
    stop: threading.Event
    heard: Counter[str] = field(default_factory=Counter)

    def act(self) -> None:
        """One stream."""
        with self.place.api() as api:
            try:
                self._listen(api.lines("/live"))
            except NoAnswerError as error:
                self._remark(f"the live events broke off: {error}")

    def _listen(self, lines: Iterator[str]) -> None:
        kind = ""
        for line in lines:
            if self.stop.is_set():
                return
            name, _, text = line.partition(": ")
            kind = text if name == "event" else kind
            self.heard[kind] += name == "event"
            if (name, kind) == ("data", "problem") and json.loads(text)["detail"]:
                self._remark(f"live: {text}")

    def _remark(self, text: str) -> None:
        self.place.book.remark(text, time.monotonic() - LATE_S)


@dataclass
class Keeper:
    """Copies the file of the store while it is written; is killed itself at times."""

    place: Deployment
    rng: Random
    copies: int = 0

    def act(self) -> None:
        """One backup, whole or none."""
        source = parse_url(self.place.store_url).database or ""
        copy = Path(f"{source}.copy")
        copy.unlink(missing_ok=True)
        within_s = self.rng.random() if self.rng.random() < 0.3 else WITHIN_S
        with suppress(subprocess.TimeoutExpired):  # it is killed then
            subprocess.run([sys.executable, "-c", BACKUP, source, str(copy)], check=True, timeout=within_s)
            self.copies += 1
            assert sound(copy) == "ok"


def sound(file: Path) -> str:
    """What SQLite finds in a file: ``ok``."""
    with closing(sqlite3.connect(file, timeout=WITHIN_S)) as connection:
        try:
            return "\n".join(str(row[0]) for row in connection.execute("PRAGMA integrity_check"))
        except sqlite3.DatabaseError as error:
            return str(error)
