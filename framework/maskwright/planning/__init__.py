"""The plan: variable groups, strata, operators, and who keeps each edit."""
