"""What is written to the store: by a batch of streaming, by the api, by redrive workers."""
