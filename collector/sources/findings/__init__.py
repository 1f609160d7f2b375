"""Findings: what is configured so that dead letters will be lost."""
