"""The engine: knows jobs and lanes, not pages."""
