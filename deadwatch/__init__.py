"""What every process stands on: the contract, dead letters, orders, the store, and the runtime."""
