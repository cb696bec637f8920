"""Bringing masked values onto every edit, and onto the published grid."""
