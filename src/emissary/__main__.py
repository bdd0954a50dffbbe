"""The command `emissary`."""

from emissary.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
