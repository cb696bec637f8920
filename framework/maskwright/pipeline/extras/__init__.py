"""What a pipeline may add to a run by name: checks of the plan, sections of the report, work after the release."""
