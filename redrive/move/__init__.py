"""Moving the records of one order, from the claim to the commit.

Read downwards: ``redrive.worker`` claims an order and repeats steps, ``mover`` makes each step one
transaction (read, decide, rewrite, write, commit), ``transaction`` is what the Kafka producer does of it.
"""
