"""The main job on real data: `demo/run.py`, and what it is made of.

    run       the order of events, the command line
    load      which data, and how it is read with and without the pool
    audit     what is wrong with the data, counted
    served    a pool of the demo's own
    worker    what each of the eight processes does
    crew      starting, following, killing and replacing them
    factors   the eight factors, with definitions and sources
    ic        ranks, forward returns, information coefficients, quantiles
    memory    what a process has to itself, by the kernel's account
    plots     figures as SVG
    report    the terminal's tables and demo/report.html
"""
