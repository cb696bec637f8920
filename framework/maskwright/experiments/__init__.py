"""Comparing methods: an experiment file, its cells, running and caching them, the table, the front, the map."""
