"""Step 1: two CPU ranks. Objects go by calls in lower case, memory by calls that begin with a capital."""

from array import array

import dcgn


def main(comm: dcgn.Comm) -> None:
    other = 1 - comm.rank
    if comm.rank == 0:
        comm.send({"words": ["any", "object"]}, other, tag=1)
    else:
        print("came:", comm.recv(source=other, tag=1))

    x = array("d", [0.0])  # a NumPy array as well
    for _ in range(1000):
        if comm.rank == 0:
            comm.Send(x, other)
            comm.Recv(x, other)
        else:
            comm.Recv(x, other)
            x[0] += 1
            comm.Send(x, other)
    if comm.rank == 0:
        print("after 1000 rounds:", x[0])


dcgn.run(main, cpus=2)
