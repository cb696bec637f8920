"""Numerics that several built-ins share."""
