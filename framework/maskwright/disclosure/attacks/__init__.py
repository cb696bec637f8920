"""Attacks: each a module of one subject, that infers cells from what is published."""
