"""The example: a made-up household survey, its edits and a pipeline, written to a folder."""

from __future__ import annotations

from maskwright.commands.demo.files import DemoFiles, write_demo

__all__ = ["DemoFiles", "write_demo"]
