"""What follows from rules before any record is read: contradictions, what follows from what, dead branches."""
