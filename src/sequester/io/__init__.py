"""Read tables from files, each format in a file of its own; what is broken is refused with its place."""

from sequester.io.read import looks_like_spmf, read_frame

__all__ = ["looks_like_spmf", "read_frame"]
