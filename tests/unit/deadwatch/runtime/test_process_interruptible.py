"""What a signal does inside ``interruptible``, and afterwards."""

import signal
from contextlib import suppress

import pytest

from deadwatch.runtime import process


@pytest.mark.parametrize("number", process.STOP_SIGNALS)
def test_a_signal_ends_what_is_inside(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    with pytest.raises(process.Interrupted), process.interruptible():
        signal.raise_signal(number)

    assert signal.getsignal(number) is before


def test_a_closed_terminal_ends_nothing_where_that_is_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with process.interruptible():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_closed_terminal_that_tells_it_again_interrupts_no_tidying_up() -> None:
    tidied = list[str]()

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGHUP)
        finally:
            signal.raise_signal(signal.SIGHUP)
            tidied.append("everything")

    with pytest.raises(process.Interrupted), process.interruptible():
        work()
    assert tidied == ["everything"]


def test_what_a_library_takes_is_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    with process.interruptible():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_that_a_library_swallows_ends_it_nevertheless() -> None:
    with pytest.raises(process.Interrupted), process.interruptible(), suppress(BaseException):
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_of_which_a_library_makes_another_error_is_the_signal() -> None:
    def library() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except BaseException as interrupted:
            raise RuntimeError("the connection is gone") from interrupted

    with pytest.raises(process.Interrupted), process.interruptible():
        library()


def test_an_error_without_a_signal_is_the_error() -> None:
    with pytest.raises(RuntimeError, match="on its own"), process.interruptible():
        raise RuntimeError("on its own")
