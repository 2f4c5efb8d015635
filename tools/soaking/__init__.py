"""Parts of tools/soak: random scenes, what must always hold of their runs, and smaller scenes that fail the same way."""
