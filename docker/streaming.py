"""What spark-submit runs as streaming: a file, where ``python -m streaming`` is a module."""

import runpy

runpy.run_module("streaming", run_name="__main__", alter_sys=True)
