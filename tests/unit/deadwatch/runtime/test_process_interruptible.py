"""What a signal does inside ``interruptible``, and afterwards."""

import signal

import pytest

from deadwatch.runtime import process


@pytest.mark.parametrize("number", process.STOP_SIGNALS)
def test_a_signal_ends_what_is_inside(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    with pytest.raises(process.Interrupted), process.interruptible():
        signal.raise_signal(number)

    assert signal.getsignal(number) is before


def test_what_a_library_takes_is_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    with process.interruptible():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    assert signal.getsignal(signal.SIGINT) is before
