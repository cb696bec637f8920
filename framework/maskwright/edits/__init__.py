"""Edit constraints: the model, its two languages, evaluation, analysis."""
