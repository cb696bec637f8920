"""The pages, in the order of the work."""

from __future__ import annotations

from maskwright_studio.pages.experiments import COMPARING
from maskwright_studio.pages.explorer import EXPLORER
from maskwright_studio.pages.opening import OPENING
from maskwright_studio.pages.pipeline import PIPELINE
from maskwright_studio.pages.records import RECORDS
from maskwright_studio.pages.results import BEFORE_AND_AFTER, REPORT
from maskwright_studio.pages.risk import RISK
from maskwright_studio.pages.running import DECIDING, PLANNING, RUNNING
from maskwright_studio.pages.variables import RULES, VARIABLES

PAGES = (
    OPENING,
    VARIABLES,
    RULES,
    RISK,
    DECIDING,
    PIPELINE,
    PLANNING,
    RUNNING,
    COMPARING,
    BEFORE_AND_AFTER,
    RECORDS,
    REPORT,
    EXPLORER,
)
