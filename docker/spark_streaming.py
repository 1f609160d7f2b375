"""What spark-submit runs as streaming: a file, where ``python -m streaming`` is a module.

Spark puts the file's directory first on the path, so it may not have the module's name.
"""

import runpy

runpy.run_module("streaming", run_name="__main__", alter_sys=True)
