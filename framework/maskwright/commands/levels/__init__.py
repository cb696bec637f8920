"""Runs on data of several levels: households and the persons in them."""
