"""
Objects as bytes. Large memory that an object holds, a NumPy array's say, is not copied: the bytes of an object are parts,
which lie anywhere and are sent as one message; and a received array's memory is where its message came.

The first part is how many more there are with the object's memory, the length of each, and the pickle's; then the pickle.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any

LEAST = 4096  # bytes of memory that are a part of their own
ALIGNMENT = 16


def parts_of(obj: object) -> list[object]:
    """Of an object: the first one is bytes."""
    memory: list[memoryview] = []

    def take(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LEAST:
            return True  # into the pickle
        memory.append(raw)
        return False

    data = pickle.dumps(obj, protocol=5, buffer_callback=take)
    lengths = [raw.nbytes for raw in memory]
    head = struct.pack(f"={len(memory) + 2}q", len(memory), *lengths, len(data)) + data
    parts: list[object] = [head]
    end = len(head)
    for raw in memory:
        if end % ALIGNMENT:
            parts.append(bytes(-end % ALIGNMENT))
        parts.append(raw)
        end += -end % ALIGNMENT + raw.nbytes
    return parts


def dumps(obj: object) -> bytes:
    """The parts of an object in one."""
    parts = parts_of(obj)
    return parts[0] if len(parts) == 1 else b"".join(parts)  # type: ignore[return-value, arg-type]


def loads(data: Any) -> Any:
    """The object of these bytes, whose memory may be in there: nothing else is to write to it."""
    view = memoryview(data).cast("B")
    count = struct.unpack_from("=q", view)[0] if view.nbytes >= 8 else -1
    begin = 8 * (count + 2)
    if count < 0 or begin > view.nbytes:
        what = f"a message of {view.nbytes} bytes that is no object"
        raise ValueError(f"{what}, expected one of send(); Recv() takes memory")
    *lengths, size = struct.unpack_from(f"={count + 1}q", view, 8)
    end = begin + size
    memory = []
    for length in lengths:
        at = end + -end % ALIGNMENT
        end = at + length
        memory.append(view[at:end])
    return pickle.loads(view[begin : begin + size], buffers=memory)
