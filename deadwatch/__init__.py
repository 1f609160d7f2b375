"""The front door: it starts, checks and shows the service. It composes, it decides nothing."""
