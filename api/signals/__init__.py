"""What the store knows, by signal: its rows, the queries that read them, and the answers made of them."""
