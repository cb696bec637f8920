"""Built-in reports."""

from __future__ import annotations

from maskwright import Report
from maskwright_builtin.reports.html import HTML

REPORTS: tuple[Report, ...] = (HTML,)
