"""The pages, in the order of the work."""

from __future__ import annotations

from maskwright_studio.pages.explorer import EXPLORER
from maskwright_studio.pages.opening import OPENING
from maskwright_studio.pages.pipeline import PIPELINE
from maskwright_studio.pages.planning import PLANNING
from maskwright_studio.pages.report import REPORT
from maskwright_studio.pages.rules import RULES
from maskwright_studio.pages.running import RUNNING
from maskwright_studio.pages.variables import VARIABLES

PAGES = (
    OPENING,
    VARIABLES,
    RULES,
    PIPELINE,
    PLANNING,
    RUNNING,
    REPORT,
    EXPLORER,
)
