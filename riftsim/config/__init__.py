"""Experiment files: what they may say, reading them, and the points of their sweeps."""
