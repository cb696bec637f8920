"""Attacks that come with Maskwright, besides those that complementary suppression always uses."""

from __future__ import annotations

from maskwright import Deferred

ATTACKS = (
    Deferred("learned", "maskwright_builtin.attacks.learned:LEARNED"),
    Deferred("other_units", "maskwright_builtin.attacks.other_units:OTHER_UNITS"),
    Deferred("emptiness", "maskwright_builtin.attacks.emptiness:EMPTINESS"),
)
