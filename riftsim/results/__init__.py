"""Recorded runs: writing them once, finding and reading them again, and the one table of metrics over them."""
