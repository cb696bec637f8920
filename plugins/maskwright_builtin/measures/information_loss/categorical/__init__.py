"""What masking costs in categories: their tables, their associations, and the information that is left."""
