"""The Model Context Protocol: our verbs as tools, for whoever lets a model use them."""

from emissary.mcp.protocol import serve

__all__ = ["serve"]
