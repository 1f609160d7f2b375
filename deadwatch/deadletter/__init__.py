"""One dead letter record: how it is parsed, by dialect, and the filter language over its fields."""
