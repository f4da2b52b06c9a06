"""How a value shows itself in a terminal or a notebook."""
