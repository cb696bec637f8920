"""The pages, in the order of the work."""

from __future__ import annotations

from maskwright_studio.pages.before_and_after import BEFORE_AND_AFTER
from maskwright_studio.pages.comparing import COMPARING
from maskwright_studio.pages.explorer import EXPLORER
from maskwright_studio.pages.opening import OPENING
from maskwright_studio.pages.pipeline import PIPELINE
from maskwright_studio.pages.planning import PLANNING
from maskwright_studio.pages.report import REPORT
from maskwright_studio.pages.risk import RISK
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
    COMPARING,
    BEFORE_AND_AFTER,
    RISK,
    REPORT,
    EXPLORER,
)
