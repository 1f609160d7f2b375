"""The line for a terminal that asks for the same redrive."""

import shlex

from streaming.redrive.order import OrderRequest
from streaming.redrive.order_options import words


def redrive(request: OrderRequest) -> str:
    """``deadwatch redrive …``, quoted for a shell; it shows the dry run and asks."""
    return shlex.join(["deadwatch", "redrive", *words(request)])
