"""Run the command line as ``python -m sequester``."""

from sequester.cli import main

if __name__ == "__main__":
    main()
