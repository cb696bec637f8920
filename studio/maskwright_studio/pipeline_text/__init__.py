"""Edits of a pipeline as text: one setting is changed, and every comment, column, quote and line end stays."""

from __future__ import annotations

from maskwright_studio.pipeline_text.edits import append, insert, move, remove, set_value, set_values, uncomment
from maskwright_studio.pipeline_text.names import set_names

__all__ = ("append", "insert", "move", "remove", "set_names", "set_value", "set_values", "uncomment")
