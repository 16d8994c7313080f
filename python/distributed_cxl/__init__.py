"""Matrices of a named pool, with pandas' names: a thin face of `cenote`.

    from distributed_cxl import CXLDataFrame

    close = CXLDataFrame.from_parquet(
        "close_matrix.parquet", pool="cxl_pool_A", location_policy="hot_columns")
    alpha001 = close.rolling(5).max().rank(axis=1, result_pool="cxl_pool_A")
    alpha001.name, alpha001.to_pandas()

What is computed is what `cenote.DataFrame` computes, and what is stored is a frame of the pool
that every process reads in place; `cenote` has all that is not here.
"""

from distributed_cxl._frame import LOCATION_POLICIES, CXLDataFrame

__all__ = ["LOCATION_POLICIES", "CXLDataFrame"]
