"""The studio: the whole job in a browser on the user's own machine, as a further command of ``maskwright``."""
