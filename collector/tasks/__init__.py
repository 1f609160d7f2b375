"""Sources as tasks: started, polled, timed out (KIP-572) and abandoned (KIP-611)."""
