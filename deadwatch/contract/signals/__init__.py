"""Every counted signal: those that code refers to by name, and whatever else a module of this package has."""

import pkgutil
from importlib import import_module
from typing import Final

from deadwatch.contract.signals import clients, share_dead_letters, streams
from deadwatch.contract.signals.clients import *  # noqa: F403 -- one list for those who read it
from deadwatch.contract.signals.share_dead_letters import *  # noqa: F403 -- as above
from deadwatch.contract.signals.signal import Signal
from deadwatch.contract.signals.streams import *  # noqa: F403 -- as above

_OTHERS = (import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__))  # noqa: F405 -- Python's

ALL: Final[tuple[Signal, ...]] = tuple(
    {
        signal.series: signal
        for module in (streams, clients, share_dead_letters, *_OTHERS)
        for signal in vars(module).values()
        if isinstance(signal, Signal)
    }.values()
)
"""In the order in which people see them; signals of modules that are not named here come last."""
