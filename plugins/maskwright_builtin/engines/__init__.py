"""Engines that come with Maskwright and need a package of their own."""
