"""The release folder on disk: written whole or not at all, and opened with its hashes checked."""

from sequester.bundle.notes import check_suppressed
from sequester.bundle.open import Opened, open_release
from sequester.bundle.target import check_target
from sequester.bundle.write import Pages, Written, write

__all__ = ["Opened", "Pages", "Written", "check_suppressed", "check_target", "open_release", "write"]
