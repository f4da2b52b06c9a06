"""Write a release folder, whole or not at all, and open one with its hashes checked."""

from sequester.bundle.open import Opened, open_release
from sequester.bundle.staging import check_target
from sequester.bundle.write import Pages, Written, check_suppressed, write

__all__ = ["Opened", "Pages", "Written", "check_suppressed", "check_target", "open_release", "write"]
