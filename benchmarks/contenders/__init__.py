"""Those who do the same work in the batch and polite benchmarks, each in a process of its own."""
