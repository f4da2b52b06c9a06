"""The configuration, and the jobs behind the commands."""
