"""What is reported before anything is masked: notices, and doubts that stop a release."""
