"""How others write: one module a log dialect."""
