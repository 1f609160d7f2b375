"""Where the tests find what is not code, and where they count."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The project's."""

DATA: Final = ROOT / "tests" / "data"
"""Recorded answers, logs and stores of landed versions."""

COUNTED: Final = "deadwatch-ports"
"""The file, among the temporary ones, that counts the ports that were given (``lab.ports``)."""
