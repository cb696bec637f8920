"""Suppression: records or cells are left out so that no person is rare on the key variables."""

from __future__ import annotations

from maskwright_builtin.methods.suppression.local_suppression import LOCAL_SUPPRESSION, RECORD_SUPPRESSION

__all__ = ["LOCAL_SUPPRESSION", "RECORD_SUPPRESSION"]
