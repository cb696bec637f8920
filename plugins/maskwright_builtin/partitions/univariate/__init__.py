"""The optimal partition of one variable."""
