"""Redrive: dead letters go back to where they belong, once, and only as fast and as often as allowed."""
