"""The benchmarks: every published figure, beside its peer, measured in one run."""
