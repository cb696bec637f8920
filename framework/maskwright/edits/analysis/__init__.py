"""What can be said of rules before any record is seen: contradictions, what follows from what, dead branches."""
