"""Measures of information loss: what a user of the masked file loses."""
