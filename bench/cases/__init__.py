"""The cases, one file each; `bench.case` says what a case is."""
