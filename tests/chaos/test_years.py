"""Years of use in minutes: everybody uses the service at once, every process is killed at random moments.

In the end the store is sound, every total is the truth, and what was answered is there: tokens, notes,
orders, entries of the audit. No record is lost or moved twice.
"""

import threading
import time
from random import Random

import pytest

from deadwatch.store.address import SQLITE
from deadwatch.store.engine import parse_url
from tests.chaos.account import Account
from tests.chaos.actors import Admin, Commenter, Keeper, Operator, Reader, Scraper, Watcher, acting
from tests.chaos.closing import judged
from tests.chaos.deployment import STREAMING, Deployment
from tests.chaos.traffic import Traffic

pytestmark = pytest.mark.chaos

LIVES_AT_MOST_S = 4


def kill_until(place: Deployment, end_s: float, rng: Random, account: Account) -> None:
    """One after the other at random moments; streaming, which begins slowly, when it has counted again, and
    then twice.
    """
    left: list[str] = []
    counted = 0
    while time.monotonic() < end_s:
        time.sleep(rng.uniform(0.2, LIVES_AT_MOST_S))  # the random moment at which one dies
        left = left or rng.sample(sorted(place.victims), len(place.victims))
        victim = left.pop()
        if victim == STREAMING:
            before, counted = counted, place.counted()
            if before == counted:
                continue
            place.kill(victim)
            account.kills += 1
            time.sleep(rng.uniform(0.2, LIVES_AT_MOST_S))  # this one dies before its first batch
        place.kill(victim)
        account.kills += 1


def use_until(place: Deployment, end_s: float, rng: Random, account: Account) -> None:
    """Everybody at once, until the end."""
    stop = threading.Event()
    people = (Admin(place, rng), Commenter(place, rng), Operator(place, rng), Reader(place, rng))
    watchers = (Watcher(place, stop), Watcher(place, stop))
    keepers = (Keeper(place, rng),) if parse_url(place.store_url).drivername == SQLITE else ()
    everybody = (*people, Scraper(place), Scraper(place), *watchers, *keepers)
    with acting(*(one.act for one in everybody), rng=rng):
        kill_until(place, end_s, rng, account)
        stop.set()
    account.done["backups"] = sum(one.copies for one in keepers)
    account.done["live events"] = sum(one.heard.total() for one in watchers)


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_no_kill_takes_back_what_was_promised(
    request: pytest.FixtureRequest, store: str, traffic: Traffic, lasts_s: float, account: Account
) -> None:
    store_url, stores = request.getfixturevalue(store)
    with judged(traffic, store_url, stores, account) as place:
        use_until(place, time.monotonic() + lasts_s / 2, Random(store), account)
