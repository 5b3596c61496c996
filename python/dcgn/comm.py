"""Communicators: what a CPU rank calls to send, receive and take part in collectives."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any, Optional, Union

from dcgn._dcgn import ANY_SOURCE, ANY_TAG, Op, Request, Status
from dcgn._dcgn import Comm as _Comm
from dcgn.pickled import dumps, loads, parts_of

IN_PLACE: None = None  # as sendbuf of a reduction: the input lies in recvbuf

Operation = Union[Op, Callable[[Any, Any], Any]]

_FUNCTIONS: dict[Op, Callable[[Any, Any], Any]] = {
    Op.SUM: operator.add,
    Op.PROD: operator.mul,
    Op.MIN: lambda a, b: b if b < a else a,
    Op.MAX: lambda a, b: b if a < b else a,
    Op.LAND: lambda a, b: bool(a) and bool(b),
    Op.LOR: lambda a, b: bool(a) or bool(b),
    Op.LXOR: lambda a, b: bool(a) != bool(b),
    Op.BAND: operator.and_,
    Op.BOR: operator.or_,
    Op.BXOR: operator.xor,
}


def _parts(data: bytearray, counts: Sequence[int]) -> list[Any]:
    """The objects of which `data` has the bytes one after the other."""
    objects, begin, view = [], 0, memoryview(data)
    for count in counts:
        objects.append(loads(view[begin : begin + count]))
        begin += count
    return objects


class Comm(_Comm):
    """
    A communicator as one CPU rank sees it.

    Calls in lower case take and give any object that can be pickled. Calls that begin with a capital are for memory: NumPy
    arrays, strided ones too, and what else has the buffer protocol, `__cuda_array_interface__` or DLPack; or, for a layout
    of one's own, `[array, datatype]` and `[array, count, datatype]`. They are what slots of GPUs can answer.

    It belongs to the thread of its kernel, and lasts as long.
    """

    # ---- objects: messages
    def send(self, obj: object, dest: int, tag: int = 0) -> None:
        """Sends an object."""
        self._send_parts(parts_of(obj), dest, tag, False)

    def ssend(self, obj: object, dest: int, tag: int = 0) -> None:
        """The same; returns once the matching receive has begun, too."""
        self._send_parts(parts_of(obj), dest, tag, True)

    def bsend(self, obj: object, dest: int, tag: int = 0) -> None:
        """The same; never waits for the receiver."""
        self.Bsend(dumps(obj), dest, tag)

    def recv(
        self, buf: Optional[object] = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Optional[Status] = None
    ) -> Any:
        """Receives an object, of any size; `buf`, where it is given, is where its bytes come."""
        envelope = self.Probe(source, tag)
        room = bytearray(envelope.count) if buf is None else buf
        self.Recv(room, envelope.source, envelope.tag, status)
        return loads(room)

    def isend(self, obj: object, dest: int, tag: int = 0) -> Request:
        """Begins to send an object."""
        return self._isend_parts(parts_of(obj), dest, tag)

    def irecv(self, buf: Union[int, object] = 32768, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begins to receive an object, which wait() gives; it has up to `buf` bytes, or fits into the memory `buf`."""
        room = bytearray(buf) if isinstance(buf, int) else buf
        request = self.Irecv(room, source, tag)
        request._decode_by(lambda _: loads(room))
        return request

    def sendrecv(
        self,
        sendobj: object,
        dest: int,
        sendtag: int = 0,
        recvbuf: Optional[object] = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Optional[Status] = None,
    ) -> Any:
        """Sends an object and receives one at once."""
        request = self.isend(sendobj, dest, sendtag)
        obj = self.recv(recvbuf, source, recvtag, status)
        request.wait()
        return obj

    # ---- objects: collectives, in communicators of CPU ranks
    def barrier(self) -> None:
        """No rank leaves before all have entered."""
        self.Barrier()

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """The root's object to all."""
        data = bytearray(dumps(obj)) if self.rank == root else bytearray()
        length = array("q", [len(data)])
        self.Bcast(length, root)
        if self.rank != root:
            data = bytearray(length[0])
        self.Bcast(data, root)
        return obj if self.rank == root else loads(data)

    def gather(self, sendobj: object, root: int = 0) -> Optional[list[Any]]:
        """A list of the objects of all ranks at the root, None elsewhere."""
        data = dumps(sendobj)
        counts = array("q", bytes(8 * self.size)) if self.rank == root else None
        self.Gather(array("q", [len(data)]), counts, root)
        if counts is None:
            self._gatherv(data, bytearray(), [], root)
            return None
        room = bytearray(sum(counts))
        self._gatherv(data, room, list(counts), root)
        return _parts(room, counts)

    def scatter(self, sendobj: Optional[Sequence[Any]] = None, root: int = 0) -> Any:
        """Object r of the root's list to rank r; None elsewhere."""
        length = array("q", [0])
        if self.rank != root:
            self.Scatter(None, length, root)
            room = bytearray(length[0])
            self._scatterv(b"", [], room, root)
            return loads(room)
        parts = [dumps(o) for o in self._one_for_each("scatter", sendobj)]
        counts = array("q", map(len, parts))
        self.Scatter(counts, length, root)
        room = bytearray(length[0])
        self._scatterv(b"".join(parts), list(counts), room, root)
        return loads(room)

    def allgather(self, sendobj: object) -> list[Any]:
        """A list of the objects of all ranks."""
        data = dumps(sendobj)
        counts = array("q", bytes(8 * self.size))
        self.Allgather(array("q", [len(data)]), counts)
        room = bytearray(sum(counts))
        self._allgatherv(data, room, list(counts))
        return _parts(room, counts)

    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Object r of each rank's list to rank r; a list of what came from each."""
        parts = [dumps(o) for o in self._one_for_each("alltoall", sendobj)]
        lengths = array("q", map(len, parts))
        counts = array("q", bytes(8 * self.size))
        self.Alltoall(lengths, counts)
        room = bytearray(sum(counts))
        self._alltoallv(b"".join(parts), list(lengths), room, list(counts))
        return _parts(room, counts)

    def reduce(self, sendobj: Any, op: Operation = Op.SUM, root: int = 0) -> Any:
        """Object of rank 0 op object of rank 1 op ... at the root, None elsewhere; `op` may be any function of two."""
        objects = self.gather(sendobj, root)
        return None if objects is None else fold(_FUNCTIONS[op] if isinstance(op, Op) else op, objects)

    def allreduce(self, sendobj: Any, op: Operation = Op.SUM) -> Any:
        """The same at every rank."""
        return self.bcast(self.reduce(sendobj, op, 0), 0)

    # ---- communicators
    def Split(self, color: int = 0, key: int = 0) -> Comm:
        """By all ranks: those of one color become a communicator, in order of key. A negative color is in none."""
        return Comm(super().Split(color, key))

    def Dup(self) -> Comm:
        """By all ranks: a communicator of the same ranks, whose messages meet its own receives alone."""
        return Comm(super().Dup())

    def Get_rank(self) -> int:
        """As rank."""
        return self.rank

    def Get_size(self) -> int:
        """As size."""
        return self.size

    def _one_for_each(self, call: str, objects: Optional[Sequence[Any]]) -> Sequence[Any]:
        if objects is None or len(objects) != self.size:
            given = "None" if objects is None else f"{len(objects)} objects"
            raise ValueError(f"{call}: {given}, expected one for each of {self.size} ranks")
        return objects
