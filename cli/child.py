"""Runs a module as ``python -m`` would, and ends it when its supervisor is gone.

    python -m cli.child SECONDS MODULE [ARGUMENT …]

The supervisor holds the other end of this process's standard input. When that closes, however the supervisor
ended (SIGKILL included), the module gets SIGTERM and, SECONDS later, its whole process group SIGKILL.
"""

import os
import runpy
import signal
import sys
import threading
import time


def main(arguments: list[str]) -> None:
    """Watch the supervisor from a thread, run the module in this one."""
    limit_s, module, *rest = arguments
    supervisor = os.dup(0)
    with open(os.devnull) as nothing:  # noqa: PTH123 -- a device, not a path
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=_end_with, args=(supervisor, float(limit_s)), daemon=True).start()
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(supervisor: int, limit_s: float) -> None:
    """Wait for the end of the supervisor, then end this process group."""
    while os.read(supervisor, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(limit_s)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
