"""The stores, ours among them, behind one small interface.

A peer is a class that `bench.child` runs in a process of its own:

* `open(**options) -> str` starts or joins the store and returns its version;
* `close() -> None` ends everything it started; calling it twice does no harm.

Beyond that it has those of the operations below that its store can do. Those that time
something return nanoseconds, one number a call; all data comes from `bench.data`.

| operation | timed |
| --- | --- |
| `load_wide() -> digest` | nothing: stores the table of 100 columns |
| `get_wide(repeats)` | a table of 100 columns, by name or reference, ready for use |
| `first_get_wide(processes)` | the same as the first act of a fresh process |
| `load_array(n_bytes)` | nothing: makes the float64 array that `put_array` stores |
| `put_array(repeats)` | storing it; what was stored is deleted off the clock |
| `put_small(first, count)` | storing tables of 1 KiB numbered from `first` |
| `get_small(numbers)` | reading those back as Arrow; the values are checked |
"""
