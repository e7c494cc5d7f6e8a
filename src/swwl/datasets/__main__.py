"""``python -m swwl.datasets make …`` is ``swwl make …``."""

from swwl.cli import main

if __name__ == "__main__":
    main()
