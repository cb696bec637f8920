"""What stands for characters inside quotes, and where a text of CSV is; read without a compiler."""

from __future__ import annotations

DELIMITER_MARK, LINE_FEED_MARK, CARRIAGE_RETURN_MARK = 0xFD, 0xFE, 0xFF
"""Bytes that no UTF-8 text has: they stand for a delimiter and for line ends inside quotes."""

START, BARE, QUOTED, CLOSED = 0, 1, 2, 3
"""Where a text is: at the start of a cell, in one without quotes, inside quotes, behind a quote inside quotes."""
IS_BARE, IS_QUOTED, NEEDS_QUOTES = 0, 1, 2
