"""What masking costs in categories: their tables, their associations, and what can still be told from them."""
