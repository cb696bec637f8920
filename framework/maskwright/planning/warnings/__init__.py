"""What a person is told before anything is masked: notices, and doubts that stop a release."""
