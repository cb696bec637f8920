"""Looking at a file before anything is declared: what each variable probably is, told without a value."""
