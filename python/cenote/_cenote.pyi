"""Types of the native classes. Checked against them by tests/test_typing.py."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, final

__all__ = [
    "Frame",
    "Partition",
    "Pool",
    "Schema",
    "Values",
    "Writer",
    "__version__",
    "column_type",
    "column_values",
    "column_with",
    "connect_pool",
    "one_column",
    "open_embedded",
    "open_reference",
    "parse_size",
    "reference_directory",
]

__version__: str

class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...

class _Array(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None, /) -> tuple[object, object]: ...

class _HasSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class _FrameInfo(TypedDict):
    name: str
    version: int
    num_rows: int
    num_columns: int
    nbytes: int
    created_ns: int
    source: str
    uses: int

class _LostFrame(TypedDict):
    name: str
    version: int
    source: str
    reason: str

class _PoolInfo(TypedDict):
    path: str
    pid: int
    epoch: int
    capacity: int
    used: int
    sealed: int
    retired_held: int
    open: int
    ready: int
    metadata: int
    leaked: int
    file_system_free: int
    memory_headroom: int | None
    frames: int
    chunks: int
    arenas: int
    clients: int
    uptime_s: int
    lost: list[_LostFrame]

class _Lease(TypedDict):
    name: str
    version: int
    current: bool
    chunks: int
    nbytes: int

class _Session(TypedDict):
    session: int
    pid: int
    command: str
    age_s: int
    connected: bool
    quarantined: bool
    stopped: bool
    open: int
    leases: list[_Lease]

# A table: an Arrow stream or array, a pandas DataFrame, a dict of columns, or an iterator of
# tables. pandas is not imported to say so.
_Table: TypeAlias = _Stream | _Array | Mapping[str, Any] | Any
_Columns: TypeAlias = str | list[str] | tuple[str, ...]
_Rows: TypeAlias = tuple[SupportsIndex | None, SupportsIndex | None] | slice | range

@final
class Pool(Mapping[str, Frame]):
    @property
    def address(self) -> Path: ...
    @property
    def embedded(self) -> bool: ...
    def put(
        self,
        name: str,
        data: _Table,
        *,
        replace: bool = False,
        timeout: float | None = None,
        source: str | None = None,
        pickle: bool = False,
    ) -> int: ...
    def writer(
        self,
        name: str,
        schema: _HasSchema | Mapping[str, Any],
        *,
        replace: bool = False,
        timeout: float | None = None,
        source: str | None = None,
    ) -> Writer: ...
    def get(  # type: ignore[override]
        self,
        name: str,
        /,
        *,
        columns: _Columns | None = None,
        rows: _Rows | None = None,
        where: str | None = None,
    ) -> Frame: ...
    def drop(self, name: str, /) -> None: ...
    def rename(self, old: str, new: str, /) -> None: ...
    def frames(self) -> list[_FrameInfo]: ...
    def info(self) -> _PoolInfo: ...
    def leases(self) -> list[_Session]: ...
    def evict(self, session: int, /) -> None: ...
    def __getitem__(self, name: str, /) -> Frame: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __iter__(self) -> Iterator[str]: ...
    def _repr_html_(self) -> str: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Frame:
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def created_ns(self) -> int: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def schema(self) -> Any: ...  # pyarrow.Schema, or Schema
    def to_arrow(self) -> Any: ...  # pyarrow.Table
    def to_pandas(
        self,
        *,
        writable: bool = False,
        types_mapper: Callable[[Any], Any] | None = None,
        pickle: bool = False,
    ) -> Any: ...  # pandas.DataFrame
    def to_polars(self) -> Any: ...  # polars.DataFrame
    def to_numpy(self, name: str, /) -> Any: ...  # numpy.ndarray
    def values(self, name: str, /) -> Values: ...
    def column(self, name: str, /) -> Any: ...  # pyarrow.ChunkedArray
    def filter(self, where: str, /) -> Frame: ...
    @property
    def predicate(self) -> str | None: ...
    def explain(self) -> str: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Writer:
    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def version(self) -> int | None: ...
    @property
    def realigned(self) -> int: ...
    def write(self, data: _Table, /) -> None: ...
    def allocate(self, num_rows: int, /) -> Partition: ...
    def commit(self) -> int: ...
    def abort(self) -> None: ...
    def __enter__(self) -> Writer: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class Partition:
    @property
    def num_rows(self) -> int: ...
    def keys(self) -> list[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...  # numpy.ndarray, or memoryview
    def __contains__(self, name: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...

@final
class Schema:
    @property
    def names(self) -> list[str]: ...
    @property
    def types(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Values:
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int]: ...
    def __len__(self) -> int: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...  # numpy.ndarray
    def __dlpack__(self, **keywords: Any) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def column_with(frame: Frame, kinds: list[str], /) -> int | None: ...
def column_type(frame: Frame, at: int, /) -> str: ...
def one_column(frame: Frame, at: int, /) -> Frame: ...
def column_values(frame: Frame, name: str, /) -> list[Values] | str: ...
def connect_pool(
    address: str, command: str | os.PathLike[str] | None = None, capacity: int | None = None
) -> Pool: ...
def open_embedded(capacity: int | None = None) -> Pool: ...
def parse_size(text: str, /) -> int: ...
def open_reference(pool: Pool, reference: bytes) -> Frame: ...
def reference_directory(reference: bytes) -> str: ...
