"""The command line: every command of `deadwatch`, the demo and the supervisor of `deadwatch up`."""
