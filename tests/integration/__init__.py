"""Tests on a real Kafka: a package, since its lab is started and ended with it."""
