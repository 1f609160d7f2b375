"""Two streams on one store: one of them writes."""

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from deadwatch.store.errors import FencedError, HeldError
from deadwatch.store.store import Store
from deadwatch.store.write import lease
from deadwatch.store.write.lease import Owner, this_process
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY

TTL_MS = 10_000
HERE = Owner("here|1", 1, "1|boot")
ELSEWHERE = Owner("elsewhere|1", 2, "2|boot")


class Clock:
    """Moves on by ``step_ms`` whenever it is looked at."""

    def __init__(self, step_ms: int = TTL_MS) -> None:
        self.now_ms = 0
        self._step_ms = step_ms

    def __call__(self) -> int:
        self.now_ms += self._step_ms
        return self.now_ms


one, other = suite.store, suite.store


def hold(store: Store, owner: Owner, clock: Clock | None = None) -> threading.Event:
    stop = threading.Event()
    assert store.hold(owner, ttl_ms=TTL_MS, stop=stop, now_ms=clock or Clock())
    return stop


def test_the_second_stream_is_refused_while_the_first_one_lives(one: Store, other: Store) -> None:
    hold(one, HERE)
    beats = iter(range(100))

    def while_it_beats() -> int:
        one.note_source("streaming", "streaming", up=True, message="", now_ms=next(beats))
        return 1

    with pytest.raises(HeldError, match=r"another stream writes this store \(pid 1 on here\): stop it, or"):
        other.hold(ELSEWHERE, ttl_ms=TTL_MS, stop=threading.Event(), now_ms=while_it_beats)
    assert one.apply(EMPTY)


def test_an_owner_that_was_started_anew_while_the_second_one_waited_lives(one: Store, other: Store) -> None:
    hold(one, HERE)
    clock = Clock()

    def while_it_starts_anew() -> int:
        if clock.now_ms:
            one.close()
            hold(one, HERE)
        return clock()

    with pytest.raises(HeldError):
        other.hold(ELSEWHERE, ttl_ms=TTL_MS, stop=threading.Event(), now_ms=while_it_starts_anew)
    assert one.apply(EMPTY)


def test_silence_is_taken_over_and_what_comes_late_is_refused(one: Store, other: Store) -> None:
    stop = hold(one, HERE)
    hold(other, ELSEWHERE)
    assert other.apply(EMPTY)
    with pytest.raises(FencedError, match="taken over by pid 2 on elsewhere: this stream ends"):
        one.apply(replace(EMPTY, offsets={("t", 0): 1}))
    assert stop.is_set()
    assert isinstance(one.lost, FencedError)
    assert other.offsets() == {}
    with pytest.raises(FencedError):
        one.note_source("streaming", "streaming", up=True, message="", now_ms=1)


def test_it_is_taken_over_when_the_holders_own_time_is_over(one: Store, other: Store) -> None:
    hold(one, HERE)
    clock = Clock(TTL_MS // 2)
    assert other.hold(ELSEWHERE, ttl_ms=1, stop=threading.Event(), now_ms=clock)
    assert clock.now_ms == TTL_MS // 2 + TTL_MS


def test_a_store_that_nobody_holds_any_more_is_taken_at_once(one: Store, other: Store) -> None:
    for store, owner in ((one, HERE), (other, ELSEWHERE)):
        clock = Clock()
        hold(store, owner, clock)
        assert clock.now_ms == TTL_MS
        assert store.apply(EMPTY)
        one.close()


def test_an_owner_that_was_taken_over_does_not_let_others_in(one: Store, other: Store) -> None:
    hold(one, HERE)
    hold(other, ELSEWHERE)
    one.close()
    assert other.apply(EMPTY)


@pytest.mark.parametrize("boot", [lease.BOOT, Path("none")], ids=["by its ticks", "by the clock"])
def test_a_process_that_was_killed_is_known_to_be_gone(
    one: Store, other: Store, boot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BOOT", boot)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            me = this_process()
            its = replace(me, pid=process.pid, started=lease._started(process.pid))
            hold(one, its)
            assert not me.is_gone(its.token)
        finally:
            process.kill()
    assert me.is_gone(its.token)
    clock = Clock(1)
    hold(other, me, clock)
    assert clock.now_ms == 1


def test_a_clock_that_is_set_ends_no_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the boot moves with it, and with that the time of day at which a process began."""
    me = this_process()
    (tmp_path / "stat").write_text("btime 1")
    (tmp_path / str(me.pid)).symlink_to(f"/proc/{me.pid}")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert not me.is_gone(me.token)


ME = this_process()
TICKS, BOOT = ME.started.split("|")
TOKENS: dict[str, tuple[str, bool]] = {
    "our own": (ME.token, False),
    "of an earlier process with our pid": (replace(ME, started=f"1|{BOOT}").token, True),
    "of the time before the machine was restarted": (replace(ME, started=f"{TICKS}|another").token, True),
    "of another machine": (replace(ME, place="elsewhere|1", started=f"1|{BOOT}").token, False),
    "of an earlier version, which counts by the clock": (f"{ME.place}|{ME.pid}|1.00", False),
}


@pytest.mark.parametrize(("token", "is_gone"), TOKENS.values(), ids=TOKENS)
def test_who_is_known_to_be_gone(token: str, is_gone: bool) -> None:
    assert ME.is_gone(token) is is_gone


def test_for_an_earlier_version_a_token_is_of_another_place() -> None:
    """So it waits for silence, and takes the store from no stream that is alive."""
    place, _, _ = ME.token.rsplit("|", 2)
    assert place != ME.place


def test_a_stream_that_is_asked_to_stop_waits_no_longer(one: Store, other: Store) -> None:
    hold(one, HERE)
    stop = threading.Event()

    def asked() -> int:
        stop.set()
        return 1

    assert not other.hold(ELSEWHERE, ttl_ms=TTL_MS, stop=stop, now_ms=asked)
    assert one.apply(EMPTY)
