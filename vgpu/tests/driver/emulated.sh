#!/bin/bash
# Programs under dcgn vgpu run --emulate. Of CUDA's runtime, which is static, shared, or has a default stream for each thread:
# results are the same on one, two and four GPUs, what goes wrong says so, and what a split launch may get wrong is right. Of
# the driver: the 18 workloads.
#   emulated.sh DCGN NVCC WORKLOADS
set -u
dcgn=$1 nvcc=$2 workloads=$3
here=$(dirname "$(realpath "$0")")
unset LD_PRELOAD LD_LIBRARY_PATH
export DCGN_VGPU_SPLIT=always  # but where it is said
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  echo "FAILED: $1"
  head -c 3000 "$work/out" "$work/err" 2>/dev/null
  failed=1
}
# expect WHAT CODE PATTERN command...: its exit code, and a pattern in what it prints
expect() {
  local what=$1 code=$2 pattern=$3
  shift 3
  timeout 60 "$@" >"$work/out" 2>"$work/err"
  local found=$?
  if [ $found != "$code" ]; then fail "$what: exit code $found, expected $code"; fi
  if ! cat "$work/out" "$work/err" | grep -q -- "$pattern"; then fail "$what: expected '$pattern'"; fi
}
emulate() { expect "$1" "$2" "$3" "$dcgn" vgpu run --emulate "${@:4}"; }

# Of PTX alone, but for one program: ptxas takes half of the time.
ptx='-gencode arch=compute_90,code=compute_90'
build() { "$nvcc" -std=c++17 -O1 -o "$work/$1" "${@:2}" >"$work/$1.log" 2>&1; }
compile() { for name in program errors managed; do build $name.o $ptx -c "$here/emulated_$name.cu" || return; done; }
{ compile && build static -cudart static "$work"/{program,errors,managed}.o && build shared -cudart shared "$work"/{program,errors,managed}.o; } &
build per_thread -arch=sm_90 -cudart static --default-stream per-thread "$here"/emulated_{program,errors,managed}.cu &
wait
# Arrays of two pages.
build whole $ptx -cudart static -DDCGN_TEST_WORDS='(1 << 20)' -maxrregcount=64 "$here"/whole_{program,addresses,captures,left,waits}.cu &
for gpus in 1 2 4; do
  for kind in static shared per_thread; do
    [ $kind$gpus = per_thread4 ] && continue
    emulate "$kind on $gpus" 0 "variables 880" --gpus $gpus -q "$work/$kind"
    [ -e "$work/first" ] || cp "$work/out" "$work/first"
    cmp -s "$work/out" "$work/first" || fail "$kind on $gpus: another result"
  done
done
for kind in static per_thread; do
  emulate "$kind, measured" 0 "variables 880" --gpus 2 --split=measured -q "$work/$kind"
  cmp -s "$work/out" "$work/first" || fail "$kind, measured: another result"
done
DCGN_TEST_EMULATED_US=200 DCGN_TEST_EMULATED_SPLIT_US=100 emulate "a variable given, measured" 0 \
  "argument 2 leads to memory that the first GPU alone" --gpus 2 --split=measured "$work/static" variable_given
# Launches that nothing waits for until the end; with an argument, behind a kernel that the host lets go only then.
cat >"$work/ahead.cu" <<'END'
#include <cstdio>
__global__ void wait_for(volatile unsigned* go) {
  while (*go == 0) {}
}
__global__ void add(float* data) {
  volatile float* const mine = data + 1024 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = 0; i < 10; ++i) *mine += 0.25f;
}
int main(int argc, char**) {
  constexpr int threads = 1 << 10, launches = 1200;
  float *data = nullptr, last = 0;
  unsigned* go = nullptr;
  if (cudaMalloc(&data, threads * 4096) != cudaSuccess || cudaMemset(data, 0, threads * 4096) != cudaSuccess) return 1;
  if (cudaMallocHost(&go, sizeof *go) != cudaSuccess) return 1;
  *go = 0;
  if (argc > 1) wait_for<<<1, 1>>>(go);
  for (int i = 0; i < launches; ++i) add<<<threads / 32, 32>>>(data);
  *static_cast<volatile unsigned*>(go) = 1;
  if (cudaMemcpy(&last, data + 1024 * (threads - 1), sizeof last, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  return std::printf("ahead %g\n", last) < 0;
}
END
build ahead $ptx -cudart shared "$work/ahead.cu"
DCGN_TEST_EMULATED_US=100 DCGN_TEST_EMULATED_SPLIT_US=50 emulate "launches ahead of the GPU" 0 "tried split [1-9]" \
  --gpus 2 --split=measured "$work/ahead"
grep -q "^ahead 3000$" "$work/out" || fail "launches ahead of the GPU: another result"
# Of a program that is done at once no launch is timed: three tries, as a machine may be busy.
cat >"$work/short.cu" <<'END'
__global__ void nothing() {}
int main() {
  for (int i = 0; i < 20; ++i) {
    nothing<<<2, 32>>>();
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  }
}
END
build short $ptx -cudart shared "$work/short.cu"
for _ in 1 2 3; do
  emulate "a short program" 0 "nothing  *20  *0  *20" --gpus 2 --split=measured "$work/short"
  timed=$(grep -c "us whole" "$work/err")
  [ $timed = 0 ] && break
done
[ $timed = 0 ] || fail "launches of a short program are timed"
emulate "launches behind a kernel that waits for the host" 0 "^ahead 3000$" --gpus 2 --split=measured "$work/ahead" waits
emulate "GPUs that the program knows, measured" 0 "^two_devices 2" --gpus 2 --split=measured -q "$work/static" two_devices
emulate "GPUs unasked" 0 "2 GPUs as one" "$work/shared" atomics
emulate "a part each" 0 "twice.*  *1  *1  *0" --gpus 0,1 "$work/static" streams
emulate "a check" 0 "no memory differs" --check "$work/shared" streams
emulate "memory that is not there" 0 "emulated GPU [01]: out_of_bounds: address 0x" "$work/static" fault
emulate "a fault of another GPU" 0 "emulated GPU 1: out_of_bounds_at_last: address 0x.* in block (255,0,0), thread" "$work/static" far_fault
for gpus in 1 2; do
  for step in fault_by_stream fault_by_event fault_by_free; do
    emulate "$step on $gpus" 0 "^$step 1" --gpus $gpus "$work/static" $step
  done
done
emulate "a trap" 0 "emulated GPU [01]: fail_if: trap" "$work/shared" trap
emulate "a call that is not emulated" 0 "cudaMallocArray is not emulated" "$work/static" configurations
strip -o "$work/stripped" "$work/static"
emulate "no symbols" 2 "no symbols: link it with -cudart shared, or do not strip it" "$work/stripped"
emulate "too many GPUs" 2 "--gpus 17: 17, expected" --gpus 17 "$work/static"
emulate "a program without GPUs" 0 "^hello$" echo hello

# Results of one GPU from two.
emulate "workloads" 0 "^18 workloads, 0 failed" --gpus 2 "$workloads"
# Some 60 have but one block.
grep -q "17[0-9] of 232 launches split" "$work/err" || fail "workloads are not split"
grep -E "^[a-z_]+ +[0-9]+ +[0-9]+ +[1-9]" "$work/err" | grep -qv "fewer blocks than GPUs" && fail "a workload is whole for another reason"
# Of those whose atomics leave the same memory in whatever order.
ordered="vector-add back-propagation scan fourier srad finite-difference rays coulomb"
emulate "workloads, checked" 0 "made split and whole: [0-9]* launches, no memory differs" --gpus 2 --check "$workloads" $ordered

wait
steps=$("$work/whole" list | grep -v thread_streams) # which takes longest: run.sh has it
emulate "what may go wrong" 0 "GPUs as one" --gpus 2 --json "$work/json" "$work/whole" $steps
for step in $steps; do grep -q "^$step is right" "$work/out" || fail "$step"; done
split=$(grep -m1 -o '"split": [0-9]*' "$work/json" | grep -o '[0-9]*$')
[ "${split:-0}" -gt 400 ] || fail "what may go wrong: ${split:-no} launches split"
for why in "spin-wait: a loop" "addresses: of " "malloc: each GPU" "functions: called through" "atomics on memory of the host"; do
  grep -q "$why" "$work/err" || fail "what may go wrong: no launch is whole for $why"
done
for step in address_in_constant mapped memory_of_host registers; do
  emulate "$step, checked" 0 "made split and whole: .* no memory differs" --gpus 2 --check "$work/whole" $step
done
emulate "clocks, checked" 1 "differs, split and whole: clocks" --gpus 2 --check "$work/whole" clocks

# Kernel traces, which networks run.
printf '[topology]\nkind = "sFBFLY"\ngpus = 2\n[kernels]\ntrace = "%s"\n[gpu]\nshared_memory = "228 KiB"\n' "$work/trace" >"$work/kernels.toml"
printf '[system]\norganisation = "GMN"\ntrace = "%s"\n[gpu]\nshared_memory = "228 KiB"\n' "$work/trace" >"$work/system.toml"
emulate "a trace" 0 "variables 880" -q --record "$work/trace" "$work/shared"
if [[ $("$dcgn" --help) == *"  sim "* ]]; then
  expect "a trace on a network" 0 "2 GPUs, blocks by chunks" "$dcgn" sim run "$work/kernels.toml"
  expect "a trace on an organisation" 0 "$work/shared on GMN" "$dcgn" sim run "$work/system.toml"
fi
# Launches that nothing waits for before the program ends.
cat >"$work/left.cu" <<'END'
#include <cstdio>
__global__ void count(unsigned* to) { for (int i = 0; i < 20000; ++i) atomicAdd(to, 1u); }
int main() {
  unsigned* to = nullptr;
  if (cudaMalloc(&to, 4) != cudaSuccess) return 1;
  for (int i = 0; i < 5; ++i) count<<<2, 32>>>(to);
  return std::puts("five launches") < 0;
}
END
build left $ptx -cudart shared "$work/left.cu"
emulate "launches left at the end" 0 "five launches" -q --record "$work/left.trace" "$work/left"
if [[ $("$dcgn" --help) == *"  sim "* ]]; then
  sed "s|\"$work/trace\"|\"$work/left.trace\"|" "$work/kernels.toml" >"$work/left.toml"
  expect "a trace of launches left" 0 "^ *count *5 " "$dcgn" sim run "$work/left.toml"
fi
# And kernels that never end, or that end the program.
cat >"$work/endless.cu" <<'END'
#include <cstdio>
#include <cstdlib>
__global__ void one(unsigned* to) { *to = 1; }
__global__ void spin(volatile unsigned* to) {
  while (*to != 7) {}
}
int main(int argc, char**) {
  unsigned* to = nullptr;
  if (cudaMalloc(&to, 4) != cudaSuccess) return 1;
  one<<<1, 1>>>(to);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  if (argc > 1)
    cudaLaunchHostFunc(nullptr, [](void*) { std::exit(5); }, nullptr);
  else
    spin<<<1, 1>>>(to);
  if (argc > 1) cudaDeviceSynchronize();
  return 0;
}
END
build endless $ptx -cudart shared "$work/endless.cu"
emulate "a kernel without an end, recorded" 0 "left out what had not ended" -q --record "$work/endless.trace" "$work/endless"
[ -s "$work/endless.trace" ] || fail "a kernel without an end leaves no trace"
emulate "an exit by a host function, recorded" 5 "left out what had not ended" -q --record "$work/exit.trace" "$work/endless" exit
emulate "a trace of nothing" 3 "no process launched a kernel" --record "$work/nothing" -q echo hello
[ -e "$work/nothing" ] && fail "a trace of nothing is there"
expect "a trace without --emulate" 2 "expected --emulate" "$dcgn" vgpu run --record "$work/nothing" "$work/shared"
emulate "a trace of two GPUs" 2 "launches are recorded whole" --gpus 2 --record "$work/nothing" "$work/shared"
[ $failed = 0 ] && echo "all as expected"
exit $failed
