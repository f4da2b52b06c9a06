"""Many candidates for one table: which there are, how they are run, and which of them is recommended."""
