"""What Emissary costs, measured on this machine. `python -m benchmarks --help` says what there is."""
