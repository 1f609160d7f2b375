"""The store: what is left of a billion records. One transaction a batch."""
