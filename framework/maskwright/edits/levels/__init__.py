"""Edits that span records of several levels: ``sum(person.income) + capital == total``."""
