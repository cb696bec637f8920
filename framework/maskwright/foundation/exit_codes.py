"""Exit codes of commands. Nothing is imported here: ``maskwright --help`` knows them too."""

EXIT_FINE = 0
EXIT_REFUSED = 1
EXIT_INPUT = 2
EXIT_BUG = 3
EXIT_OUTPUT_FAILED = 4
"""All was done, but standard output could not be written to the end."""
