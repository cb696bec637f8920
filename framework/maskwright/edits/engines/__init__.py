"""Tests that only a real XPath engine can answer, each asked in a process of its own."""
