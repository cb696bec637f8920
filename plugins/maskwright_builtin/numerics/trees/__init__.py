"""Classification and regression trees on coded predictors."""
