"""The two-level example: a made-up survey of households and persons in three forms, its edits and its pipelines."""

from __future__ import annotations

from maskwright.commands.demo.levels.files import AS_TRIED, HOUSEHOLDS, LevelsDemoFiles, write_levels_demo

__all__ = ["AS_TRIED", "HOUSEHOLDS", "LevelsDemoFiles", "write_levels_demo"]
