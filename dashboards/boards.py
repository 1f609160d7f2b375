"""Every dashboard, in the order in which one reads them."""

from typing import Final

from dashboards import (
    abandoned,
    dead_letters,
    delivery_timeouts,
    itself,
    overview,
    redrive,
    task_timeouts,
)
from dashboards.frame import Board

ALL: Final[tuple[Board, ...]] = (
    overview.BOARD,
    dead_letters.BOARD,
    task_timeouts.BOARD,
    abandoned.BOARD,
    delivery_timeouts.BOARD,
    redrive.BOARD,
    itself.BOARD,
)
