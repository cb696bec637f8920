"""``python -m maskwright``: the command line."""

from __future__ import annotations

from maskwright.cli.main import command_line

if __name__ == "__main__":
    command_line()
