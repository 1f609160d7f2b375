"""The whole service as processes: collector, streaming, api and two workers, on one store."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

import httpx2

from cli.api_client import Api
from deadwatch.store.store import Store
from lab.ports import free_port
from tests import http
from tests.chaos.counted import write_config
from tests.chaos.exchanges import Book, Client
from tests.chaos.processes import Service, Victims, running
from tests.chaos.traffic import Traffic
from tests.command_line import deadwatch
from tests.waiting import until

WITHIN_S = 120
API, STORE, STREAMING = "api", "store", "streaming"
LEASE_MS = 2_000
"""So that the orders of a worker that was killed are soon another's."""


@dataclass(frozen=True)
class Deployment:
    """``token`` is an admin's."""

    traffic: Traffic
    store_url: str
    url: str
    token: str
    services: tuple[Service, ...]
    victims: Victims
    book: Book = field(default_factory=Book)
    opened: ExitStack = field(default_factory=ExitStack)
    """Every client, until the end."""

    def client(self, *refusals: int, token: str | None = None) -> Client:
        """Of the admin or of another token, who may be refused so."""
        client = Client(self.book, self.url, self.token if token is None else token, refusals)
        self.opened.callback(client.close)
        return client

    def api(self, *refusals: int) -> Api:
        """As ``client``."""
        return Api(self.client(*refusals))

    def kill(self, name: str) -> None:
        """Kill it and start it again; returns as soon as the api answers."""
        with self.book.outage() if name in {API, STORE} else nullcontext():
            self.victims[name]()
            until(self.answers, lambda: f"the api does not come back: {self.log(API)}", WITHIN_S)

    def counted(self) -> int:
        """How many dead letters streaming has counted; 0 before the first."""
        with self.api() as api:
            return sum(one["records"] for one in api.get("/dead-letters/topics")["items"])

    def answers(self) -> bool:
        """Whether the api is there and can read the store."""
        with suppress(httpx2.TransportError):
            return http.get(f"{self.url}/readyz").is_success
        return False

    def log(self, name: str = "") -> str:
        """The last lines of a process, or of all."""
        return "\n".join(f"{one.label}: {one.tail()}" for one in self.services if name in {"", one.label})


@contextmanager
def deployed(traffic: Traffic, store_url: str, stores: Victims) -> Iterator[Deployment]:
    """Everything runs and answers; ``stores`` is what may be killed of the store."""
    with Store(store_url):
        pass  # so that there is one to make the first token on
    port = free_port()
    config = write_config(
        traffic, store_url, api={"port": port}, redrive={"lease_ms": LEASE_MS, "poll_interval_ms": 100}
    )
    made = deadwatch(
        *("token", "create", "chaos", "--role", "admin", "--on-store", "--config", str(config)),
        within_s=WITHIN_S,
    )
    assert made.returncode == 0, made.stderr
    modules = {
        "collector": "collector",
        STREAMING: "streaming",
        API: "api",
        "worker-1": "redrive",
        "worker-2": "redrive",
    }
    services = tuple(
        Service(module, config, traffic.log.with_name(f"{name}.log"), name)
        for name, module in modules.items()
    )
    with running(*services) as acts:
        place = Deployment(
            traffic, store_url, f"http://127.0.0.1:{port}", made.stdout.strip(), services, {**acts, **stores}
        )
        with place.opened:
            until(place.answers, place.log, WITHIN_S)
            yield place
