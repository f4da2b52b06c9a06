"""Run the command line as ``python -m sequester``."""

import sys

from sequester.cli import main

if __name__ == "__main__":
    sys.exit(main())
