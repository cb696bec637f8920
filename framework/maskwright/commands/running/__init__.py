"""What every run goes through: it arrives, is refused or masked, is measured and recorded, and is published."""
