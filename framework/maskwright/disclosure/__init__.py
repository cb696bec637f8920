"""Disclosure: what an intruder can infer from a release, attack by attack, and the one decision about it."""
