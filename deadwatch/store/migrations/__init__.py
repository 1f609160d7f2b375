"""How a store of one version becomes one of the next; each file is one step, made by ``make migration``."""
