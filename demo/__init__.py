"""The main job on real data: `demo/run.py`, and what it is made of.

    run       the command line
    job       the order of events
    load      which data, and how it is read with and without the pool
    audit     what is wrong with the data, counted
    served    a pool of the demo's own
    bars      where a process has its bars from: the pool, or a copy of its own
    worker    what each of the eight processes does
    crew      starting, following, killing and replacing them
    factors   the eight factors, with definitions and sources
    ic        ranks, forward returns, information coefficients, returns by fifth
    worth     from factors in the pool to their coefficients
    claims    what must hold, tried while it runs
    memory    what a process has to itself, by the kernel's account
    outcome   everything that a run found out
    terminal  tables on the terminal
    plots     figures as SVG
    report    demo/report.html (report.css is its style)
"""
