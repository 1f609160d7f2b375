"""One aggregate a signal: pure functions from a batch to deltas."""
