"""Queries that compute more than rows: growth over time, and what came back of redrives."""
