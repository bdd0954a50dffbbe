"""What Emissary says of itself: logs, and metrics that are each declared once."""
