"""What stands between the engine and plugins: every call, what is handed in, and what comes back."""
