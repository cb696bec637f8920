"""Built-in reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.reports.html import HTML

if TYPE_CHECKING:
    from maskwright import Report

REPORTS: tuple[Report, ...] = (HTML,)
