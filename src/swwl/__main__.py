"""``python -m swwl`` is ``swwl``."""

from swwl.cli import main

if __name__ == "__main__":
    main()
