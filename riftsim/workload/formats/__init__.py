"""Vector and ground-truth files of the field, read and written byte by byte as their tools do."""

from riftsim.workload.formats.annbench import annbench_metric, read_annbench_truth, write_annbench
from riftsim.workload.formats.range_truth import RangeTruth, read_range_truth, write_range_truth
from riftsim.workload.formats.truth import TruthFile, read_truth_file, write_truth_file
from riftsim.workload.formats.vectors import open_vectors, read_vectors, vector_writer, write_vectors

__all__ = [
    "RangeTruth",
    "TruthFile",
    "annbench_metric",
    "open_vectors",
    "read_annbench_truth",
    "read_range_truth",
    "read_truth_file",
    "read_vectors",
    "vector_writer",
    "write_annbench",
    "write_range_truth",
    "write_truth_file",
    "write_vectors",
]
