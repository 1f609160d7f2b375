"""What helpers of tests assert says, when it fails, what was compared, as pytest does for tests alone.

Garbage is not collected while everything is imported (``tests/conftest.py`` begins again): there is none,
and looking for it took a fifth of the time.
"""

import gc
import sys
from pathlib import Path

import pytest

gc.disable()
TESTS = Path(__file__).with_name("tests")
helpers = {f"tests.{path.stem}" for path in TESTS.iterdir()}
pytest.register_assert_rewrite(*sorted(helpers.difference(sys.modules)))
