# The front door. Every target first installs the packages that it needs (packages.txt), or says which are missing: what is
# built may find the libraries elsewhere, by CMAKE_PREFIX_PATH.
# PRESET=cpu|cuda|asan|tsan chooses the build; without it, cuda where a GPU and nvcc are found, else cpu.
# MODULE="core stencil", say, has the tests of these modules alone built and run.

SHELL := /bin/bash -o pipefail
PRESET ?= $(shell if { [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1; } \
	&& { command -v nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } >/dev/null 2>&1; then echo cuda; else echo cpu; fi)
JOBS ?= $(shell nproc)
# Tests wait for a good part of their time.
TESTS_AT_ONCE ?= $(shell expr $(JOBS) \* 2)
BENCH ?= p2p

configure = cmake --preset $(PRESET) $(flags) --log-level=WARNING && cmake -B build/$(PRESET) | sed -n '/Decagon/,/Configuring/{/Configuring/!p}'
build = cmake --build --preset $(PRESET) -j $(JOBS)
sources = git ls-files -co --exclude-standard -- "*.cpp" "*.hpp" | sort -u | while read -r f; do [ ! -e "$$f" ] || echo "$$f"; done
clang_format = $(shell command -v clang-format-14 || echo clang-format)

FUZZ_S ?= 60

modules = $(patsubst %/tests/CMakeLists.txt,%,$(wildcard */tests/CMakeLists.txt))
ifneq ($(filter-out $(modules),$(MODULE)),)
  $(error MODULE=$(MODULE): expected some of $(modules))
endif
empty :=
space := $(empty) $(empty)

.PHONY: help demo build test long planted bench tsan asan coverage fuzz format check-format tidy docs install clean

help:
	@echo 'make demo          build the dcgn command and run its main job; pictures in build/demo/'
	@echo 'make test          build all and run every test but the long ones, on the GPUs too if there are any'
	@echo 'make build         what make test builds, and no test is run'
	@echo 'make long          the long tests'
	@echo 'make planted       defects planted one at a time, and which test finds each;  N="03 07" only these'
	@echo 'make bench         measure beside the peers that are built; BENCH="p2p ..." names the measurements'
	@echo 'make test MODULE="core vgpu"   some modules: $(modules)'
	@echo 'make tsan, asan    the tests under the thread sanitizer, under the address and undefined-behaviour ones'
	@echo 'make coverage      which lines of the library the tests run: a table, and pages'
	@echo 'make fuzz          what reads input gets strange input, FUZZ_S ($(FUZZ_S)) seconds each; needs clang'
	@echo 'make format        clang-format all sources;  make check-format  only look, and run scripts/check-house'
	@echo 'make tidy          clang-tidy'
	@echo 'make docs          the guide, in build/docs/'
	@echo 'make install       the core alone, PREFIX=/opt/dcgn: built in build/install, without tests and command'
	@echo 'flags=-DNAME=VALUE  an option for CMake, as in make install PREFIX=/opt/dcgn flags=-DDCGN_CUDA=ON'
	@echo 'make clean         remove build/'
	@echo 'PRESET=cpu|cuda    where not the one that fits this machine ($(PRESET))'

# Without the measurements, which take the compiler longest, unless they are built already.
demo: flags = $(shell grep -qs '^DCGN_BUILD_BENCH:BOOL=ON' build/$(PRESET)/CMakeCache.txt || echo -DDCGN_BUILD_BENCH=OFF)
demo:
	@scripts/install-packages --try build tool
	@$(configure)
	@$(build) --target dcgn_command
	@mkdir -p build/demo
	cd build/demo && ../$(PRESET)/bin/dcgn demo mandelbrot
	@echo && echo 'The pictures:' && ls -1 $(CURDIR)/build/demo/*.png

build:
	@scripts/install-packages --try build tool test $(if $(filter %san,$(PRESET)),clang)
	@$(configure)
	@$(build) --target $(or $(addsuffix /tests/all,$(MODULE)),all $(if $(filter cpu,$(PRESET)),all_verify_interface_header_sets))

test: build
	@ctest --preset $(PRESET) -j $(TESTS_AT_ONCE) $(if $(MODULE),-L '^($(subst $(space),|,$(strip $(MODULE))))$$')

long:
	@scripts/install-packages --try build tool test
	@$(configure)
	@$(build)
	@ctest --test-dir build/$(PRESET) -L '^long$$' -j $(JOBS) --output-on-failure --no-tests=error

planted:
	@scripts/install-packages --try build test
	@core/tests/planted/run.sh $(N)

measurements = p2p coll apps ddt stencil vgpu pixels ablation gates
bench:
	@for name in $(filter-out $(measurements),$(BENCH)); do \
	  echo "make bench: BENCH=$$name: expected some of $(measurements)" >&2; exit 2; done
	@scripts/install-packages --try build tool mpi
	@$(configure)
	@$(build)
	@for name in $(BENCH); do \
	  case $$name in vgpu | pixels | ablation | gates) build/$(PRESET)/bin/dcgn bench $$name || exit; continue ;; esac; \
	  case $$name in apps) program=nbody ;; stencil) program=jacobi ;; *) program=$$name ;; esac; \
	  peers=$$(ls build/$(PRESET)/bin | sed -n "s/^dcgn_peer_\(.*\)_$$program\(\.py\)\?$$/\1/p"); \
	  python3 -c 'import torch' 2>/dev/null || peers=$$(grep -vx torch <<<"$$peers"); \
	  peers=$$(paste -sd, <<<"$$peers"); \
	  build/$(PRESET)/bin/dcgn bench $$name --peers $${peers:-none} || exit; \
	done

tsan asan:
	@$(MAKE) --no-print-directory test PRESET=$@

coverage:
	@scripts/install-packages --try build tool test coverage
	@$(MAKE) --no-print-directory test PRESET=$@; tests=$$?; JOBS=$(JOBS) scripts/coverage build/$@ && exit $$tests

fuzz:
	@scripts/install-packages --try build test stencil pixels clang
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build --preset fuzz -j $(JOBS) --target fuzz
	@JOBS=$(JOBS) scripts/fuzz $(FUZZ_S)

format:
	@scripts/install-packages lint
	@$(sources) | xargs -r $(clang_format) -i

check-format:
	@scripts/install-packages lint
	@scripts/check-house
	@$(sources) | xargs -r $(clang_format) --dry-run --Werror

# Of a build in which every file is compiled alone, which is never made.
tidy:
	@scripts/install-packages --try build tool test lint
	@cmake --preset $(PRESET) -B build/tidy -DCMAKE_UNITY_BUILD=OFF --log-level=WARNING
	@cmake --build build/tidy --target dcgn_commit dcgn_lines
	@scripts/tidy build/tidy

docs:
	@scripts/install-packages docs
	@mkdocs build --quiet --strict --clean -f docs/mkdocs.yml -d $(CURDIR)/build/docs
	@echo 'The guide: $(CURDIR)/build/docs/index.html'

# The core alone, built as the presets do.
install: export PREFIX := $(PREFIX)
install: without = BUILD_STENCIL BUILD_VGPU BUILD_MEMNET BUILD_TOOL BUILD_TESTS BUILD_BENCH BUILD_EXAMPLES PYTHON WALL PIXELS
install:
	@[ -n "$$PREFIX" ] || { echo 'make install: PREFIX is empty; expected the folder to install into: make install PREFIX=/opt/dcgn' >&2; exit 2; }
	@mkdir -p -- "$$PREFIX" 2>/dev/null && [ -w "$$PREFIX" ] || { echo "make install: PREFIX=$$PREFIX: expected a folder that can be written" >&2; exit 2; }
	@scripts/install-packages --try build
	@prefix=$$(realpath -m -- "$$PREFIX") && \
	cmake -S . -B build/install -G Ninja --no-warn-unused-cli -DCMAKE_INSTALL_PREFIX="$$prefix" \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O2 -g1 -DNDEBUG' \
	  -DCMAKE_CUDA_FLAGS_RELWITHDEBINFO='-O2 -lineinfo -DNDEBUG' -DCMAKE_UNITY_BUILD=ON \
	  $(addsuffix =OFF,$(addprefix -DDCGN_,$(without))) $(flags) | sed -n '/Decagon/,/Configuring/{/Configuring/!p}' && \
	cmake --build build/install -j $(JOBS) && \
	cmake --install build/install --prefix "$$prefix" | grep -v '/include/dcgn/'

clean:
	rm -rf build
