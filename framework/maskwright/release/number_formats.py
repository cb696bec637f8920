"""Figures, sizes and durations as every report sets them."""

from __future__ import annotations

import math


def figure(value: float | None) -> str:
    """Format a measured number with about four significant digits; ``undefined`` when there is none."""
    if value is None or math.isnan(value):
        return "undefined"
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    if abs(value) < 0.001:
        return "< 0.001" if value > 0 else "> -0.001"
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 1_000 else 1
    return f"{value:,.{digits}f}"


def with_unit(value: float | None, unit: str) -> str:
    """``16.31 %``, ``0.123 sd``; a count or a bare number stands alone, a whole count without decimals."""
    is_whole = unit in ("count", "records") and value is not None and value.is_integer()
    text = f"{value:,.0f}" if is_whole else figure(value)
    if text == "undefined" or unit in ("", "count", "number", "none", "1"):
        return text
    return f"{text} %" if unit == "percent" else f"{text} {unit}"


def file_size(size: int) -> str:
    """``3.4 MB``."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def duration(seconds: float) -> str:
    """``0.4 s``, ``2 min 5 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
