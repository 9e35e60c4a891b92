"""Reproducing a paper: its claims as data, what is measured for each, and the score."""
