"""From a configuration to objects, and from objects to the result of a run: the only place where all parts meet."""

from riftsim.assembly.point import calibration_ratios, compile_kernels, prepare, run_point

__all__ = ["calibration_ratios", "compile_kernels", "prepare", "run_point"]
