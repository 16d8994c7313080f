"""KunQuant: factors compiled to C++ and then to machine code.

Float64, layout (time, symbol), `no_fast_stat`: without it a missing value poisons all windows
that follow. The runs write into matrices that were made, and touched, before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import measure, prices
from bench.peers.factors import FactorEngine

# Its name for an operator over (close, volume, rows).
OPERATORS = {
    "sum": lambda ops, close, _, rows: ops.WindowedSum(close, rows),
    "max": lambda ops, close, _, rows: ops.WindowedMax(close, rows),
    "std": lambda ops, close, _, rows: ops.WindowedStddev(close, rows),
    "corr": lambda ops, close, volume, rows: ops.WindowedCorrelation(close, rows, volume),
    "rank": lambda ops, close, _, rows: ops.Rank(close),
}
INPUTS = ("low", "high", "close", "open", "amount", "volume")
LANES = 4


class KunQuantEngine(FactorEngine):
    """Its own alphas, by its own default compiler flags."""

    def version(self) -> str:
        import importlib.metadata
        import shutil

        from KunQuant.jit import cfake
        from KunQuant.runner import KunRunner

        if shutil.which(cfake.CppCompilerConfig().compiler) is None:
            raise ImportError("KunQuant needs a C++ compiler at run time; there is no g++")
        self._runner = KunRunner
        self._executor = KunRunner.createSingleThreadExecutor()
        return f"KunQuant {importlib.metadata.version('KunQuant')}"

    def _compile(self, job: str, layout: str) -> tuple[Any, list[str]]:
        from KunQuant.Driver import KunCompilerConfig
        from KunQuant.jit import cfake
        from KunQuant.Op import Builder, Input, Output
        from KunQuant.predefined import Alpha101 as ops  # all operators, and its alphas
        from KunQuant.Stage import Function

        builder = Builder()
        with builder:
            if job in OPERATORS:
                needed = ("close", "volume") if job == "corr" else ("close",)
                given = [Input(name) for name in needed]
                Output(OPERATORS[job](ops, given[0], given[-1], prices.WINDOW), job)
            else:
                needed = INPUTS
                every = ops.AllData(**{name: Input(name) for name in INPUTS})
                for alpha in ops.all_alpha:
                    if job != "ten" or alpha.__name__ in prices.TEN:
                        Output(alpha(every), alpha.__name__)
        config = KunCompilerConfig(dtype="double", input_layout=layout, output_layout=layout,
                                   options={"no_fast_stat": True})
        library = cfake.compileit([("job", Function(builder.ops), config)], f"bench_{job}",
                                  cfake.CppCompilerConfig())
        self._library = library
        return library.getModule("job"), list(needed)

    def work(self, job: str) -> Callable[[], Any]:
        import numpy as np

        module, needed = self._compile(job, "TS")
        inputs = {name: self._prices[name] for name in needed}
        shape = self._prices["close"].shape
        out = {name: np.full(shape, np.nan) for name in module.getOutputNames()}

        def run() -> Any:
            self._runner.runGraph(self._executor, module, inputs, 0, shape[0], out)
            return out

        return run

    def factors(self, job: str, result: Any) -> dict[str, Any]:
        return dict(result)

    # -- row by row

    def live(self, job: str) -> int:
        """Pushes all rows of the prices; how many factors."""
        module, self._needed = self._compile(job, "STREAM")
        symbols = self._prices["close"].shape[1]
        assert symbols % LANES == 0
        self._stream = self._runner.StreamContext(self._executor, module, symbols)
        self._handles = {name: self._stream.queryBufferHandle(name)
                         for name in [*self._needed, *module.getOutputNames()]}
        self._outputs = module.getOutputNames()
        for row in range(len(self._prices["close"])):
            self._push({name: self._prices[name][row] for name in self._needed})
        return len(self._outputs)

    def _push(self, row: dict[str, Any]) -> list[Any]:
        for name, values in row.items():
            self._stream.pushData(self._handles[name], values)
        self._stream.run()
        return [self._stream.getCurrentBuffer(self._handles[name]) for name in self._outputs]

    def push(self, repeats: int) -> list[int]:
        """Nanoseconds of CPU of each row pushed; rows are the last one, changed a little."""
        import numpy as np

        random = np.random.default_rng(prices.SEED)
        last = {name: self._prices[name][-1] for name in self._needed}
        turns = iter([{name: values * random.normal(1, 0.01, values.shape)
                       for name, values in last.items()} for _ in range(repeats)])
        return measure.each_cpu(lambda: self._push(next(turns)), repeats)
