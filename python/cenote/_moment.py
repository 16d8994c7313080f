"""Moments of time as nanoseconds since 1970, for `as_of=`."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone

from cenote._errors import ArgumentError

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_END = 1 << 64


def nanoseconds(moment: object) -> int:
    """The moment that a datetime, a date, a pandas Timestamp, ISO text or a number of nanoseconds is.

    A datetime without a zone is local time, as everywhere in Python; a text without one is UTC,
    as on the command line. A date is its first moment.
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise ArgumentError(f"as_of={moment!r} is no time in ISO 8601: {error}") from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
    if isinstance(moment, int) and not isinstance(moment, bool):
        found = int(moment)
    elif isinstance(moment, datetime):
        found = _of_datetime(moment)
    elif isinstance(moment, date):
        found = _of_datetime(datetime.combine(moment, time()))
    else:
        raise ArgumentError(
            f"as_of= takes a datetime, a date, ISO text or nanoseconds since 1970, "
            f"not {type(moment).__name__}"
        )
    if not 0 <= found < _END:
        raise ArgumentError(f"as_of={moment!r} is not between 1970 and 2554")
    return found


def _of_datetime(moment: datetime) -> int:
    # A pandas Timestamp is a datetime with more digits.
    rest = getattr(moment, "nanosecond", 0)
    if rest or hasattr(moment, "to_pydatetime"):
        moment = moment.to_pydatetime(warn=False)  # type: ignore[attr-defined]
    since = moment.astimezone(timezone.utc) - _EPOCH
    return since // timedelta(microseconds=1) * 1000 + int(rest)
