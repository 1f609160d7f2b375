"""A module for what belongs together in the store: how it is written, by whomever, and read."""
