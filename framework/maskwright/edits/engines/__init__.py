"""Tests that only a real XPath engine can answer, each run in a process of its own."""
