"""Processes: how many there may be, how one is asked and ended, and what it must not leave on a disk."""
