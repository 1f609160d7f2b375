"""What two processes must agree on, byte for byte or number for number; standard library only."""
