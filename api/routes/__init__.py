"""HTTP routes: a module for each group of paths, with the answers that no signal has."""
