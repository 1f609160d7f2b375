"""``deadwatch lab``: the lab alone, until Ctrl-C or SIGTERM."""

import sys
import threading

from deadwatch.interruption import interruptible
from lab import Lab, LabError


def run() -> int:
    """Start the lab, say how to use it, wait; the exit code."""
    try:
        with interruptible(), Lab() as lab:
            print(lab.describe(), flush=True)
            print("Ctrl-C ends it.", flush=True)
            threading.Event().wait()
    except LabError as error:
        sys.stderr.write(f"deadwatch: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    return 0
