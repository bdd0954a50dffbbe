"""Those who do the same work in the batch benchmark, each in a process of its own."""
