"""Every dashboard, in the order in which one reads them."""

from dataclasses import replace
from typing import Final

from dashboards import (
    abandoned,
    dead_letters,
    delivery_timeouts,
    figures,
    overview,
    redrive,
    self_monitoring,
    task_timeouts,
)

_IN_ORDER: Final = (
    overview,
    dead_letters,
    task_timeouts,
    abandoned,
    delivery_timeouts,
    redrive,
    self_monitoring,
)
ALL: Final = tuple(
    replace(board, now=(*board.now, *figures.of_signals(board.uid, board.choices)))
    for board in (module.BOARD for module in _IN_ORDER)
)
"""Each with a number for each of its signals, last in the first row."""
