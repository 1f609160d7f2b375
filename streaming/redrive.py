"""``python -m streaming.redrive``: the old name of ``python -m redrive``, gone in the version after 1.0."""

import runpy

if __name__ == "__main__":
    runpy.run_module("redrive", run_name="__main__")
