"""The two-level example: a made-up survey of households and persons in three forms, its edits and its pipelines."""

from __future__ import annotations

from maskwright.commands.demo.levels.files import HOUSEHOLDS, LevelsDemoFiles, write_levels_demo

__all__ = ["HOUSEHOLDS", "LevelsDemoFiles", "write_levels_demo"]
