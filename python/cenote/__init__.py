"""Put a table in once; every process computes on it in place.

    import cenote

    pool = cenote.connect()                    # the user's pool; started if need be
    pool.put("prices", {"close": [101.5, 102.25]})
    frame = pool["prices"]                     # leased: no copy, no message
    frame.to_pandas(), frame.to_polars(), frame.to_arrow()

Importing this module starts nothing. PyArrow, pandas, Polars and NumPy are used where they
are installed, and needed only by the methods that are named after them.
"""

from collections.abc import Mapping as _Mapping

from cenote._cenote import (
    IC,
    DataFrame,
    Factor,
    Factors,
    Frame,
    Library,
    Live,
    Panel,
    Partition,
    Pool,
    Schema,
    Values,
    Writer,
    __version__,
)
from cenote._connect import connect
from cenote._errors import (
    ArgumentError,
    CenoteError,
    ColumnNotFound,
    FrameDamaged,
    FrameExists,
    FrameNotFound,
    PoolExhausted,
    PoolUnavailable,
    UnsupportedType,
    VersionConflict,
    VersionNotFound,
)

_Mapping.register(Pool)

__all__ = [
    "ArgumentError",
    "CenoteError",
    "ColumnNotFound",
    "DataFrame",
    "Factor",
    "Factors",
    "Frame",
    "FrameDamaged",
    "FrameExists",
    "FrameNotFound",
    "IC",
    "Library",
    "Live",
    "Panel",
    "Partition",
    "Pool",
    "PoolExhausted",
    "PoolUnavailable",
    "Schema",
    "UnsupportedType",
    "Values",
    "VersionConflict",
    "VersionNotFound",
    "Writer",
    "__version__",
    "connect",
]
