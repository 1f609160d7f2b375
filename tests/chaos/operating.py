"""An operator who tries everything, as a state machine: what is done next, and with what, is drawn.

Nothing is asserted on the way: the book keeps every request and its answer, and what is no clear answer is
remarked in it. So a run goes on to its end and tells all that it has met.
"""

from http import HTTPStatus
from typing import Any

import httpx2
from hypothesis import strategies as st
from hypothesis.stateful import rule

from cli.api_client import DONE, NO_ANSWER, PREFIX
from tests.chaos import drawn
from tests.chaos.deployment import WITHIN_S
from tests.chaos.exchanges import Client
from tests.chaos.person import Person
from tests.chaos.traffic import DLQ_TOPIC, ELSEWHERE
from tests.command_line import deadwatch

LISTS = (
    "/overview",
    "/dead-letters/topics",
    "/dead-letters/groups",
    "/tasks",
    "/connect/tasks",
    "/abandoned",
    "/delivery-timeouts",
    "/findings",
    "/redrives",
    "/redrive-policies",
    "/tokens",
    "/audit",
    "/me",
)
METRICS = ("deadwatch_dead_letter_queue_records_total", "deadwatch_task_timeouts_total", "nothing")
PAGES = (
    *("/", "/groups", "/topics", "/redrives", "/redrives/new", "/policies", "/policies/new", "/parked"),
    *("/tasks", "/delivery-timeouts", "/findings", "/health", "/health/checks", "/settings", "/audit"),
    *("/tokens", "/nothing", f"/records?topic={DLQ_TOPIC}", "/groups?state=archived", "/groups/nothing"),
)
ROLES = ("viewer", "king")
COMMANDS = (
    ("topics",),
    ("groups", "--json"),
    ("show", "nothing"),
    ("jobs", "--limit", "5"),
    ("jobs", "nothing"),
    ("audit", "--limit", "5"),
    ("audit", "--export"),
    ("policies", "list"),
    ("token", "list", "--json"),
    ("token", "whoami"),
    ("token", "create", "pipeline", "--role", "viewer"),
    ("redrive", DLQ_TOPIC, "--all", "--dry-run", "--reason", "fixed"),
    ("redrive", DLQ_TOPIC, "--filter", "((", "--dry-run", "--reason", "fixed"),
    ("redrive", DLQ_TOPIC, "--record", "0:5", "--yes", "--reason", "fixed", "--json"),
    ("redrive", "missing", "--all", "--yes", "--reason", "fixed"),
)


class Operating(Person):
    """At the api, the console and a terminal."""

    @rule(path=st.sampled_from(LISTS), page=drawn.page | st.just({}))
    def read_a_list(self, path: str, page: dict[str, Any]) -> None:
        """With filters, cursors and parameters, right or wrong."""
        answer = self.ask("GET", path, params=page)
        if answer.is_success and answer.json().get("next"):
            self.ask("GET", path, params={"after": answer.json()["next"]})

    @rule(
        metric=st.sampled_from(("redrive_records_total", "task_timeouts_total", "nothing")), begin=drawn.time
    )
    def read_a_series(self, metric: str, begin: str) -> None:
        """From some time on."""
        self.ask("GET", "/series", params={"metric": f"deadwatch_{metric}", "from": begin})

    @rule(
        topic=drawn.topic,
        parameters=st.fixed_dictionaries(
            {"limit": st.integers(1, 50)},
            optional={
                "filter": drawn.expression,
                "partition": drawn.integer,
                "offset": drawn.integer,
                "from": drawn.time,
                "order": st.sampled_from(("newest", "oldest", "none")),
                "unmasked": st.booleans(),
                "view": st.sampled_from(("auto", "hex", "none")),
            },
        ),
    )
    def browse_records(self, topic: str, parameters: dict[str, Any]) -> None:
        """Of Kafka."""
        self.ask("GET", "/dead-letters/records", params={"topic": topic, **parameters})

    @rule(offsets=drawn.offsets)
    def give_back(self, offsets: dict[str, list[int]]) -> None:
        """All that is there, as fast as can be."""
        limits = {"records_per_second": None}
        body = {"dlq_topic": DLQ_TOPIC, "selection": {"offsets": offsets}, "limits": limits}
        self.order({**body, "reason": "fixed"})

    @rule(body=drawn.order, number=drawn.number)
    def give_some_back(self, body: dict[str, Any], number: int) -> None:
        """Selected in any way, to wherever."""
        if body["selection"] == {"group": ""}:
            body = {**body, "selection": {"group": self.group(number)}}
        self.order(body)

    @rule(number=drawn.number, deed=st.sampled_from(("pause", "resume", "cancel", "", "outcomes", "sing")))
    def change_an_order(self, number: int, deed: str) -> None:
        """One of the newest."""
        path = f"/redrives/{self.choose('/redrives', number)}"
        method = "POST" if deed in {"pause", "resume", "cancel", "sing"} else "GET"
        self.ask(method, f"{path}/{deed}".rstrip("/"))

    @rule(number=drawn.number, owner=drawn.text, comment=drawn.text, version=drawn.integer | st.none())
    def write_a_note(self, number: int, owner: str, comment: str, version: int | None) -> None:
        """Of a cause, of the version that it has or of another."""
        path = f"/dead-letters/groups/{self.group(number)}/note"
        version = self.ask("GET", path).json().get("version", 0) if version is None else version
        said = {"owner": owner, "comment": comment}
        self.ask("PUT", path, json=said, headers={"If-Match": f'"{version}"'})

    @rule(number=drawn.number, reason=drawn.text, back=st.booleans())
    def archive(self, number: int, reason: str, back: bool) -> None:
        """A cause, or take it back."""
        path = f"/dead-letters/groups/{self.group(number)}"
        if back:
            self.ask("POST", f"{path}/unarchive")
        else:
            self.ask("POST", f"{path}/archive", json={"reason": reason})

    @rule(body=drawn.token, stays=st.booleans())
    def make_a_token(self, body: dict[str, Any], stays: bool) -> None:
        """Use it, and revoke it or one that is not there."""
        made = self.ask("POST", "/tokens", json=body)
        if made.is_success:
            with Client(self.place.book, self.place.url, made.json()["token"]) as its:
                its.get(f"{PREFIX}/me")
        self.ask("DELETE", f"/tokens/{'0' * 12 if stays or made.is_error else made.json()['id']}")

    @rule(body=drawn.policy)
    def make_a_policy(self, body: dict[str, Any]) -> None:
        """A standing order."""
        self.ask("POST", "/redrive-policies", json=body)

    @rule(body=drawn.policy, number=drawn.number, delete=st.booleans(), version=drawn.integer | st.none())
    def change_a_policy(self, body: dict[str, Any], number: int, delete: bool, version: int | None) -> None:
        """Or delete it."""
        path = f"/redrive-policies/{self.choose('/redrive-policies', number)}"
        match = {} if version is None else {"If-Match": f'"{version}"'}
        if delete:
            self.ask("DELETE", path, headers=match)
        else:
            self.ask("PUT", path, json=body, headers=match)
        self.ask("GET", f"{path}/changes")

    @rule(
        method=st.sampled_from(("GET", "POST", "PUT", "DELETE", "PATCH")),
        path=st.sampled_from((*LISTS, "/redrives/00/cancel", "/nothing", "/tokens/x")),
        body=drawn.junk,
        kind=st.sampled_from(("application/json", "text/plain", "")),
    )
    def send_junk(self, method: str, path: str, body: bytes, kind: str) -> None:
        """What no program sends."""
        self.ask(method, path, content=body, headers={"Content-Type": kind})

    @rule(path=st.sampled_from(PAGES), query=drawn.page | st.just({}))
    def open_a_page(self, path: str, query: dict[str, Any]) -> None:
        """Of the console."""
        address = httpx2.URL(f"/console{path}").copy_merge_params(query)
        self.look(self.browser.get(address))

    @rule(
        fields=st.fixed_dictionaries(
            {
                "dlq_topic": drawn.topic,
                "reason": drawn.reason,
                "max_records": st.sampled_from(("20", "200", "300", "-1")),
            },
            optional={
                "select": st.sampled_from(("all", "filter", "time", "group", "some")),
                "filter": drawn.expression,
                "from": drawn.time,
                "target": st.sampled_from(("origin", "topic", "map")),
                "target_topic": st.just(ELSEWHERE) | drawn.text,
                "target_map": drawn.text,
                "records_per_second": st.sampled_from(("", "200", "-1", "many")),
                "settle_window_s": st.sampled_from(("600", "nan", "1e400", "")),
            },
        ),
        button=st.sampled_from(("", "pause", "resume", "cancel")),
    )
    def fill_the_redrive_sheet(self, fields: dict[str, str], button: str) -> None:
        """Carry its dry run out where there is one, and press a button."""
        sheet = self.post("/redrives/new", **fields)
        if sheet.status_code != HTTPStatus.SEE_OTHER:
            return
        dry = self.place_of(sheet)
        confirmed = self.ask("GET", dry).json()["plan"]["at_most"]
        started = self.post(f"{dry}/start", confirm=str(confirmed))
        if started.status_code == HTTPStatus.SEE_OTHER and button:
            self.look(self.browser.get(f"/console{self.place_of(started)}"))
            self.post(f"{self.place_of(started)}/{button}")

    @rule(number=drawn.number, owner=drawn.text, reason=drawn.text, seen=st.sampled_from(("0", "1", "x")))
    def fill_the_form_of_a_cause(self, number: int, owner: str, reason: str, seen: str) -> None:
        """Its note, and that it is done with."""
        path = f"/groups/{self.group(number)}"
        self.look(self.browser.get(f"/console{path}"))
        self.post(f"{path}/note", owner=owner, comment=reason, version=seen)
        self.post(f"{path}/archive", reason=reason)

    @rule(
        name=drawn.text, role=st.sampled_from(("viewer", "king")), days=st.sampled_from(("90", "never", "x"))
    )
    def fill_the_form_of_tokens(self, name: str, role: str, days: str) -> None:
        """Make one."""
        self.post("/tokens", name=name, role=role, days=days)

    @rule(
        fields=st.fixed_dictionaries(
            {"dlq_topics": st.sampled_from((r"dlq\.orders", "(", "")), "reason": drawn.text},
            optional={"filter": drawn.expression, "enabled": st.sampled_from(("true", "false"))},
        ),
        deed=st.sampled_from(("switch", "delete", "edit")),
        version=st.sampled_from(("1", "2", "x", "")),
    )
    def fill_the_policy_sheet(self, fields: dict[str, str], deed: str, version: str) -> None:
        """Make one, then change it."""
        made = self.post("/policies/new", **fields)
        if made.status_code == HTTPStatus.SEE_OTHER:
            self.look(self.browser.get(f"/console{self.place_of(made)}"))
            self.post(f"{self.place_of(made)}/{deed}", **{**fields, "version": version})

    @rule(
        path=st.sampled_from(("/redrives/new", "/tokens", "/policies/new", "/sign-out")),
        csrf=st.sampled_from(("", "0" * 64)),
    )
    def come_from_another_site(self, path: str, csrf: str) -> None:
        """Without the form's own token."""
        answer = self.console.post(path, csrf=csrf)
        if answer.status_code != HTTPStatus.FORBIDDEN:
            self.place.book.remark(f"{path} was posted without the form's token: {answer.status_code}")

    @rule(command=st.sampled_from(COMMANDS))
    def type_a_command(self, command: tuple[str, ...]) -> None:
        """At a terminal."""
        said = (*command, "--url", self.place.url, "--token", self.place.token)
        ended = deadwatch(*said, within_s=WITHIN_S)
        clear = ended.returncode == DONE or len(ended.stderr.splitlines()) == 1
        if ended.returncode == NO_ANSWER or "Traceback" in ended.stderr or not clear:
            self.place.book.remark(f"{command} ended with {ended.returncode}: {ended.stderr[-2_000:]}")
