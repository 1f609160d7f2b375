"""The commands of `deadwatch`, a module for each group of them."""
