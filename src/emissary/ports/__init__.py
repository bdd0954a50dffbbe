"""The promises the rest of the world makes to Emissary. One conformance suite per port runs over every backend."""
