"""The pages, one module for each thing one looks at."""
