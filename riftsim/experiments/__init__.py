"""Running experiments: points, processes, progress, and the few lines for Python."""
