"""Doing the planned work: blocks, and running a method on them."""
