#!/usr/bin/env bash
# bootstrap.sh PROGRAM ON|OFF: processes that the variables of torchrun describe find each other, or say what is wrong with
# them. The second word says whether there is OpenSSL for secrets.
set -u
program=$1 secrets=$2
export MASTER_ADDR=localhost MASTER_PORT=$((30000 + $$ % 2000)) DCGN_DEADLINE=30
. "$(dirname "$0")/at_once.sh"

# expect COUNT PATTERN VARIABLES...: so many lines that match come of a process for each group of variables.
expect() {
  local count=$1 pattern=$2 output found
  shift 2
  output=$(
    for variables in "$@"; do
      # shellcheck disable=SC2086 # several
      env $variables timeout 60 "$program" &
    done
    wait
  )
  found=$(grep -c -E "$pattern" <<<"$output")
  [ "$found" -eq "$count" ] || fail "$*: $found lines match '$pattern', expected $count, in:
$output"
}
# meet COUNT PATTERN VARIABLES...: the same beside others, at a port of its own: rank 0 takes one of 16.
meet() {
  MASTER_PORT=$((MASTER_PORT + 20))
  at_once expect "$@"
}

sum='rank [0-9] of 3: the sum is 3$'
meet 3 "$sum" "RANK=0 WORLD_SIZE=3" "RANK=1 WORLD_SIZE=3" "RANK=2 WORLD_SIZE=3"
meet 3 "$sum" "RANK=0 WORLD_SIZE=3 DCGN_MPI=tcp" "RANK=1 WORLD_SIZE=3 DCGN_MPI=tcp" "RANK=2 WORLD_SIZE=3 DCGN_MPI=tcp"
# Two jobs at one port, which know each other by torchrun's name of the run.
meet 6 "$sum" "RANK="{0,1,2}" WORLD_SIZE=3 TORCHELASTIC_RUN_ID="{one,other}
meet 1 'rank 0 of 1: the sum is 0$' "RANK=0 WORLD_SIZE=1"
meet 2 'rank 0 of 1: the sum is 0$' "RANK="{0,1}" WORLD_SIZE=2 DCGN_MPI=off"

meet 1 'RANK=x: expected a whole number' "RANK=x WORLD_SIZE=2"
meet 1 'RANK=2 with WORLD_SIZE=2: expected a rank below the size' "RANK=2 WORLD_SIZE=2"
meet 1 'MASTER_PORT=70000: expected a port' "RANK=1 WORLD_SIZE=2 MASTER_PORT=70000"
meet 2 'MASTER_ADDR=nobody.invalid: .*; expected the name or IPv4 address' "RANK="{0,1}" WORLD_SIZE=2 MASTER_ADDR=nobody.invalid"
meet 1 'RANK, WORLD_SIZE and MASTER_ADDR are not set' "DCGN_MPI=tcp"
meet 2 'RANK=1 and WORLD_SIZE=3, rank 0 has WORLD_SIZE=2; expected the same' "RANK=0 WORLD_SIZE=2" "RANK=1 WORLD_SIZE=3"
meet 1 "rank 0 does not answer rank 1 within 1 s at MASTER_ADDR=localhost at port $((MASTER_PORT + 21))" \
  "RANK=1 WORLD_SIZE=2 DCGN_DEADLINE=1"
meet 2 'there are ranks 0, 2 of 3 after 3 s, and not 1;' "RANK="{0,2}" WORLD_SIZE=3 DCGN_DEADLINE=3"
meet 3 'RANK=1, as another one does; expected each of 0 to 2 once' "RANK="{0,1,1}" WORLD_SIZE=3"
# One that has come and is killed while another has not: named at once, and not after the deadline.
one_dies() {
  local output
  output=$(
    env RANK=0 WORLD_SIZE=3 timeout 20 "$program" &
    env RANK=1 WORLD_SIZE=3 "$program" &
    sleep 2
    kill -9 $! && wait
  )
  [[ $output == *"process 1 has gone while all met"* ]] || fail "process 1 was killed while all met; rank 0 says: $output"
}
MASTER_PORT=$((MASTER_PORT + 20))
at_once one_dies

# Who has the secret, and on one host whose process it is.
quick="WORLD_SIZE=2 DCGN_DEADLINE=2"
if [ "$secrets" = OFF ]; then
  meet 2 'this build has no OpenSSL for DCGN_SECRET' "RANK="{0,1}" $quick DCGN_SECRET=one"
  end_all
fi
meet 3 "$sum" "RANK="{0,1,2}" WORLD_SIZE=3 DCGN_SECRET=one"
stranger='RANK=1 and (does not prove|has gone before it has proven) that it has the same DCGN_SECRET as rank 0$|does not prove .* as rank 1$'
meet 2 "$stranger" "RANK=0 $quick DCGN_SECRET=one" "RANK=1 $quick DCGN_SECRET=other"
meet 2 "$stranger" "RANK=0 $quick DCGN_SECRET=one" "RANK=1 $quick"
meet 2 "$stranger" "RANK=0 $quick" "RANK=1 $quick DCGN_SECRET=one"
# Time for several tries: rank 0 sees whose process it is while that is there.
tries="WORLD_SIZE=2 DCGN_DEADLINE=5"
if [ "$(id -u)" -eq 0 ] && as="setpriv --reuid=65534 --regid=65534 --clear-groups" && $as "$program" >/dev/null; then
  other='RANK=1 and is of .*user.*, expected 0 unless|rank 0 at .* is of .*user.*, expected 65534 unless'
  meet 2 "$other" "RANK=0 $tries" "$tries RANK=1 $as"
  other='RANK=1 and is of .*user.*, expected 65534 unless|rank 0 at .* is of .*user.*, expected 0 unless'
  meet 2 "$other" "$tries RANK=0 $as" "RANK=1 $tries"
  meet 2 'rank [01] of 2: the sum is 1$' "RANK=0 WORLD_SIZE=2 DCGN_SECRET=one" "RANK=1 WORLD_SIZE=2 DCGN_SECRET=one $as"
  # A job goes on where a stranger knocks, and takes the first port.
  meet 2 'rank [01] of 2: the sum is 1$' "RANK="{0,1}" WORLD_SIZE=2" "RANK=0 WORLD_SIZE=2 DCGN_DEADLINE=8 $as" \
    "RANK=1 WORLD_SIZE=3 DCGN_DEADLINE=8 $as"
else
  echo "without other users: not root, or user 65534 cannot run $program"
fi
end_all
