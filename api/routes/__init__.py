"""One router a signal."""
