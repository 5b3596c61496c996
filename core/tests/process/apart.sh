#!/usr/bin/env bash
# apart.sh PROGRAM...: in process 1 of a job, one that shares no memory with the others; else as it is.
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${RANK:-0}}}" -ne 1 ] || export DCGN_SHARE=off
exec "$@"
