#!/usr/bin/env bash
# two_hosts.sh openmpi|mpich|tcp LAUNCHER -- PROGRAM [ARGUMENT...]: runs a program as four processes on two hosts, two
# on each, or EACH. The hosts are network namespaces of this machine with names of their own and a cable between them, so
# that nothing but TCP passes. QUEUE="tbf ..." or another discipline of tc's makes it a bad one, CUT=FILE cuts it once
# that file is there. Ends with 77 where the system allows no such thing.
set -u
self=$(readlink -f "$0")

# As the launchers' ssh: two_hosts.sh [-x] HOST COMMAND...
[ "${1-}" = -x ] && shift
case ${1-} in
  10.77.*)
    host=$1
    shift
    exec nsenter --net="/run/netns/dcgn$DCGN_TEST_HOSTS-${host##*.}" unshare --mount --uts \
      bash -c "mount -t sysfs sysfs /sys && hostname host${host##*.}; $*"
    ;;
esac

mpi=$1
shift
launcher=()
while [ "$1" != -- ]; do
  launcher+=("$1")
  shift
done
shift

skip() {
  echo "skipped: $1"
  exit 77
}
command -v ip >/dev/null || skip "no command ip (Debian's iproute2)"
export DCGN_TEST_HOSTS=$$
each=${EACH:-2} all=$((2 * ${EACH:-2}))
one=dcgn$$-1 two=dcgn$$-2 net=10.77.$(($$ % 250))
folder=$(mktemp -d)
agent=$folder/ssh # a launcher takes one word
printf '#!/bin/sh\nexec bash %q "$@"\n' "$self" >"$agent"
chmod +x "$agent"
trap 'ip netns del $one 2>/dev/null; ip netns del $two 2>/dev/null; rm -rf "$folder"' EXIT
for host in $one $two; do
  said=$(ip netns add $host 2>&1 && nsenter --net=/run/netns/$host unshare --mount --uts mount -t sysfs sysfs /sys 2>&1) || skip "no network namespaces here: $said"
done
said=$(ip link add name end1 netns $one type veth peer name end2 netns $two 2>&1) || skip "no cable between them: $said"
for i in 1 2; do
  ip -n dcgn$$-$i address add "$net.$i/24" dev end$i
  ip -n dcgn$$-$i link set end$i up
  ip -n dcgn$$-$i link set lo up
done
for i in 1 2; do # UCX takes no card that has not noticed its cable
  for _ in $(seq 100); do
    [ "$(ip netns exec dcgn$$-$i cat /sys/class/net/end$i/operstate)" = up ] && break
    sleep 0.05
  done
done

for i in 1 2; do
  [ -z "${QUEUE-}" ] || said=$(tc -n dcgn$$-$i qdisc add dev end$i root $QUEUE 2>&1) || skip "no cable like $QUEUE: $said"
done
[ -z "${CUT-}" ] || {
  for _ in $(seq 600); do
    [ ! -e "$CUT" ] || break
    sleep 0.1
  done
  sleep 0.5
  ip -n $one link set dev end1 down
} &

at() { bash "$self" "$net.$1" "${@:2}"; }
quoted=$(printf '%q ' "$@")
case $mpi in
  openmpi)
    at 1 "${launcher[*]}" -n "$all" --host "$net.1:$each,$net.2:$each" --mca plm_rsh_agent "$agent" --mca btl tcp,self \
      --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" --mca pml ob1 "$quoted"
    ;;
  mpich)
    at 1 "UCX_TLS=tcp,self ${launcher[*]}" -n $all -hosts "$net.1:$each,$net.2:$each" -launcher ssh \
      -launcher-exec "$agent" "$quoted"
    ;;
  tcp)
    export WORLD_SIZE=$all LOCAL_WORLD_SIZE=$each MASTER_ADDR=$net.1
    processes=()
    for ((rank = 0; rank < all; ++rank)); do
      RANK=$rank LOCAL_RANK=$((rank % each)) at $((rank / each + 1)) "$quoted" &
      processes+=($!)
    done
    for process in "${processes[@]}"; do
      wait "$process" || failed=$?
    done
    (exit "${failed-0}")
    ;;
esac
status=$?

# Whether it went over the cable.
for i in 1 2; do
  bytes=$(ip netns exec dcgn$$-$i cat /sys/class/net/end$i/statistics/tx_bytes)
  echo "host$i has sent $bytes bytes"
  [ "$bytes" -ge 100000 ] || {
    echo "expected at least 100000"
    status=1
  }
done
exit $status
