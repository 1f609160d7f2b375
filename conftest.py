"""What helpers of tests assert says, when it fails, what was compared, as pytest does for tests alone."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("tests")
helpers = {f"tests.{path.stem}" for path in TESTS.iterdir()}
pytest.register_assert_rewrite(*sorted(helpers.difference(sys.modules)))
