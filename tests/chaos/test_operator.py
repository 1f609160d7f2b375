"""An hour of an operator: console, api and command line at random beside the traffic, with bad input too.

No answer is a failure of the server, every refusal says why, the store stays sound, and every count is the
truth in the end.
"""

import itertools
import threading
import time
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.chaos.account import Account
from tests.chaos.actors import Scraper, Watcher, acting
from tests.chaos.closing import judged, orders
from tests.chaos.deployment import Deployment
from tests.chaos.operating import Operating
from tests.chaos.processes import Victims
from tests.chaos.traffic import Traffic

pytestmark = pytest.mark.chaos

PAUSE_S = 0.25
"""Of the traffic: streaming keeps up, so that orders know what was moved before."""
LEAST_KINDS = 20
"""Of requests, of seventy that were seen in four minutes; one act again and again is five."""
ROUND = settings(
    max_examples=5,  # Hypothesis begins each with the simplest: one rule, again and again
    stateful_step_count=20,
    database=None,
    phases=(Phase.generate,),  # what has failed cannot be tried again: the service is no longer as it was
    suppress_health_check=list(HealthCheck),
)


def operate_until(place: Deployment, end_s: float) -> None:
    """Round by round, each with a seed of its own; one that cannot go on is remarked in the book."""
    at_the_place = type("OperatingHere", (Operating,), {"place": place})
    for number in itertools.count():
        try:
            run_state_machine_as_test(seed(number)(at_the_place), settings=ROUND)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is told at the end with all else
            place.book.remark(f"round {number} ended with {error!r}")
        if time.monotonic() > end_s:
            return


def leave(place: Deployment) -> None:
    """No policy makes another order, and nothing is left to move."""
    with place.api(409) as api:
        for policy in api.pages("/redrive-policies", 500)["items"]:
            api.delete(f"/redrive-policies/{policy['id']}")
        for order in orders(api):
            if not order["finished_at"]:
                api.post(f"/redrives/{order['id']}/cancel")


def test_whatever_an_operator_tries_is_answered_and_counted(
    traffic: Traffic, sqlite: tuple[str, Victims], lasts_s: float, account: Account
) -> None:
    stop = threading.Event()
    traffic.pause_s = PAUSE_S
    store_url, stores = sqlite
    with judged(traffic, store_url, stores, account) as place:
        watcher = Watcher(place, stop)
        with acting(Scraper(place).act, watcher.act, rng=Random(0)):
            try:
                operate_until(place, time.monotonic() + lasts_s)
            finally:
                stop.set()
        leave(place)
        account.done["live events"] = watcher.heard.total()
        account.done["requests"] = len(place.book.exchanges)
        account.done["kinds of requests"] = len(place.book.kinds)
        assert len(place.book.kinds) >= LEAST_KINDS, place.book.kinds
