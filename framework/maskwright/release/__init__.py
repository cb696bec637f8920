"""What is read back, checked, measured and published."""

from maskwright.release import wording as wording
