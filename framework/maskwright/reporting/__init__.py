"""What a person reads: the terminal, the run record and the public record."""
