"""The nouns of Emissary in plain Python: no clock, no network, no framework."""
