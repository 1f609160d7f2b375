"""What two processes must agree on, byte for byte or number for number. Standard library only."""
