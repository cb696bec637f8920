"""Taking information away: records, cells, and what has to go with them so that rules do not give them back."""
