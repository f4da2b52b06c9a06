"""What `inspect` finds in a table, as a value that shows itself."""
