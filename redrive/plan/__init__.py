"""Making an order: what is admitted, what it would do, what earlier ones did; and the orders of policies."""
