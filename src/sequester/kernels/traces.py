"""Walk through the traces of an XES file that is written as programs write it, without building a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts

    Bytes = npt.NDArray[np.uint8]

ELEMENTS = ("string", "date", "int", "float", "boolean", "id")
"""What an attribute may be."""
MOST_NAMES = 10_000
"""Names of attributes that are told apart; a log with more is not plain."""

_MARKS = ("<trace>", "</trace>", "<event>", "</event>", ' key="', ' value="', "/>")
_TRACE, _END_TRACE, _EVENT, _END_EVENT, _KEY, _VALUE, _END, _FIRST_ELEMENT = range(8)
_WORDS = tuple(word.encode() for word in (*_MARKS, *(f"<{element}" for element in ELEMENTS)))
_TEXT = np.frombuffer(b"".join(_WORDS), np.uint8)
_OFFSETS = np.cumsum([0, *map(len, _WORDS)])
_TAB, _FEED, _RETURN, _SPACE = np.uint8(9), np.uint8(10), np.uint8(13), np.uint8(32)
_BREAKS = (_TAB, _FEED, _RETURN)
_OPEN, _QUOTE, _AND = np.uint8(60), np.uint8(34), np.uint8(38)
_N_BUCKETS = 1 << 15


@njit
def scan_traces(
    data: Bytes, most_attributes: int, most_events: int
) -> tuple[int, Codes, Codes, Counts, Counts, Codes, Counts]:
    """Find the attributes of all traces and events, up to what is no trace.

    Gives where the traces end (-1 where they are not plain); per attribute its name, its owner (the number of
    its event or trace) and where its value begins and ends; per event the number of its trace; and per name
    whether it is one of events, its element, and where its key begins and ends.
    """
    codes = np.empty(most_attributes, np.int32)
    owners = np.empty(most_attributes, np.int32)
    values = np.empty((most_attributes, 2), np.int64)
    trace_of_event = np.empty(most_events, np.int32)
    names = np.empty((MOST_NAMES, 4), np.int64)
    buckets = np.full(_N_BUCKETS, -1, np.int32)
    n_attributes = 0
    n_traces = 0
    n_events = 0
    n_names = 0
    in_trace = False
    in_event = False
    is_plain = True
    i = 0
    while True:
        i = _skip_blanks(data, i)
        if in_event:
            if _stands_at(data, i, _END_EVENT):
                in_event = False
                i += _size(_END_EVENT)
                continue
        elif in_trace:
            if _stands_at(data, i, _END_TRACE):
                in_trace = False
                i += _size(_END_TRACE)
                continue
            if n_events < most_events and _stands_at(data, i, _EVENT):
                trace_of_event[n_events] = n_traces - 1
                n_events += 1
                in_event = True
                i += _size(_EVENT)
                continue
        elif _stands_at(data, i, _TRACE):
            n_traces += 1
            in_trace = True
            i += _size(_TRACE)
            continue
        else:
            break
        # Whatever else stands inside of a trace is an attribute.
        is_plain = False
        element = _find_element(data, i)
        if element < 0 or n_attributes == most_attributes:
            break
        i += _size(_FIRST_ELEMENT + element)
        key = i + _size(_KEY)
        key_end = _find_quote(data, key, True)
        if not _stands_at(data, i, _KEY) or key_end <= key or not _stands_at(data, key_end + 1, _VALUE):
            break
        value = key_end + 1 + _size(_VALUE)
        value_end = _find_quote(data, value, False)
        i = _skip_blanks(data, value_end + 1)
        if value_end < 0 or not _stands_at(data, i, _END):
            break
        i += _size(_END)
        code = _find_name(data, names, n_names, buckets, in_event, element, key, key_end)
        if code == MOST_NAMES:
            break
        is_plain = True
        n_names = max(n_names, code + 1)
        codes[n_attributes] = code
        owners[n_attributes] = (n_events if in_event else n_traces) - 1
        values[n_attributes, 0] = value
        values[n_attributes, 1] = value_end
        n_attributes += 1
    return (
        i if is_plain else -1,
        codes[:n_attributes],
        owners[:n_attributes],
        values[:n_attributes, 0],
        values[:n_attributes, 1],
        trace_of_event[:n_events],
        names[:n_names].copy(),
    )


@njit
def copy_values(data: Bytes, starts: Counts, ends: Counts) -> Bytes:
    """Copy values one after the other, a quote behind each, and every blank as a space, as XML means it."""
    size = 0
    for row in range(starts.size):
        size += ends[row] - starts[row] + 1
    out = np.empty(size, np.uint8)
    n_copied = 0
    for row in range(starts.size):
        for i in range(starts[row], ends[row]):
            byte = data[i]
            if byte == _RETURN and i + 1 < ends[row] and data[i + 1] == _FEED:
                continue
            if byte in _BREAKS:
                byte = _SPACE
            out[n_copied] = byte
            n_copied += 1
        out[n_copied] = _QUOTE
        n_copied += 1
    return out[:n_copied]


@njit
def _size(word: int) -> int:
    return int(_OFFSETS[word + 1] - _OFFSETS[word])


@njit
def _stands_at(data: Bytes, place: int, word: int) -> bool:
    size = _size(word)
    if place + size > data.size:
        return False
    first = _OFFSETS[word]
    j = 0
    while j < size and data[place + j] == _TEXT[first + j]:
        j += 1
    return bool(j == size)


@njit
def _skip_blanks(data: Bytes, place: int) -> int:
    while place < data.size and (data[place] == _SPACE or data[place] in _BREAKS):
        place += 1
    return place


@njit
def _find_element(data: Bytes, place: int) -> int:
    for element in range(len(ELEMENTS)):
        if _stands_at(data, place, _FIRST_ELEMENT + element):
            return element
    return -1


@njit
def _find_quote(data: Bytes, place: int, is_key: bool) -> int:
    """Find the quote that ends a value; -1 where something comes before it that is not plain."""
    while place < data.size:
        byte = data[place]
        if byte == _QUOTE:
            return place
        if byte == _OPEN or (is_key and byte == _AND):
            return -1
        if byte < _SPACE and (is_key or byte not in _BREAKS):
            return -1
        place += 1
    return -1


@njit
def _find_name(
    data: Bytes,
    names: Counts,
    n_names: int,
    buckets: Codes,
    in_event: bool,
    element: int,
    key: int,
    key_end: int,
) -> int:
    """Give the code of a name, a new one where it has none yet, and `MOST_NAMES` where there are too many."""
    digest = np.int64(in_event) * len(ELEMENTS) + element
    for i in range(key, key_end):
        # Small enough for 64 bits, so that no run of it overflows.
        digest = ((digest * 16_777_619) & 0xFFFFFFFF) ^ np.int64(data[i])
    bucket = (digest ^ (digest >> 16)) % _N_BUCKETS
    while buckets[bucket] >= 0:
        code = buckets[bucket]
        size = names[code, 3] - names[code, 2]
        if names[code, 0] == in_event and names[code, 1] == element and size == key_end - key:
            is_same = True
            for j in range(size):
                if data[names[code, 2] + j] != data[key + j]:
                    is_same = False
                    break
            if is_same:
                return int(code)
        bucket = (bucket + 1) % _N_BUCKETS
    if n_names == MOST_NAMES:
        return MOST_NAMES
    buckets[bucket] = n_names
    names[n_names, 0] = in_event
    names[n_names, 1] = element
    names[n_names, 2] = key
    names[n_names, 3] = key_end
    return n_names
