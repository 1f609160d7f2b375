"""A person at the api and the console who remarks whatever is no clear answer."""

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from hypothesis.stateful import RuleBasedStateMachine

from api.problems import ProblemResponse
from cli.api_client import PREFIX
from deadwatch.orders.options import next_step
from tests.chaos.deployment import Deployment
from tests.chaos.exchanges import Client
from tests.unit.api.console_visit import Console

REFUSALS = range(400, 500)


class Person(RuleBasedStateMachine):
    """The admin of the deployment, at the api and the console; what they do is drawn by who inherits it."""

    place: ClassVar[Deployment]

    def __init__(self) -> None:
        super().__init__()
        self.client = self.place.client(*REFUSALS)
        self.browser = Client(self.place.book, self.place.url, refusals=REFUSALS)
        self.console = Console(self.browser)
        self.console.sign_in(self.place.token)

    def teardown(self) -> None:
        """Nobody is left."""
        self.client.close()
        self.browser.close()

    def order(self, body: Mapping[str, Any]) -> None:
        """A dry run, and then what it has shown, twice with one key."""
        dry = self.ask("POST", "/redrives", json=body)
        if not dry.is_success:
            return
        key = {"Idempotency-Key": str(uuid.uuid4())}
        real = {**body, **next_step(dry.json())}
        made = [self.ask("POST", "/redrives", json=real, headers=key) for _ in range(2)]
        if all(one.is_success for one in made) and made[0].json()["id"] != made[1].json()["id"]:
            self.place.book.remark(f"one key has made two orders: {key}")

    def ask(self, method: str, path: str, **sent: Any) -> httpx2.Response:  # noqa: ANN401 -- as httpx takes it
        """Of the api; what it refuses has to say why."""
        answer = self.client.request(method, PREFIX + path, **sent)
        if answer.status_code in REFUSALS:
            kind = answer.headers.get("content-type", "")
            if kind != ProblemResponse.media_type or not answer.json().get("detail"):
                self.place.book.remark(
                    f"{method} {path} {answer.status_code} does not say why: {answer.text}"
                )
        return answer

    def post(self, path: str, **fields: str) -> httpx2.Response:
        """A form of the console."""
        return self.look(self.console.post(path, **fields))

    def look(self, answer: httpx2.Response) -> httpx2.Response:
        """A page is whole, whatever it tells."""
        whole = answer.is_redirect or "</html>" in answer.text
        if not whole or "Traceback" in answer.text:
            self.place.book.remark(f"{answer.url} {answer.status_code} is no page: {answer.text[:500]}")
        return answer

    def choose(self, path: str, number: int, name: str = "id") -> str:
        """One of a list, or one that is not there."""
        answer = self.ask("GET", path, params={"limit": 20})
        items = answer.json()["items"] if answer.is_success else []
        return str(items[number % len(items)][name]) if items else "0" * 16

    def group(self, number: int) -> str:
        """The fingerprint of a cause."""
        return self.choose("/dead-letters/groups", number, "fingerprint")

    @staticmethod
    def place_of(answer: httpx2.Response) -> str:
        """Where a form leads to, as the api and the console both call it."""
        return httpx2.URL(answer.headers["location"]).path.removeprefix("/console")
