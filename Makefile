# The two commands of the README, and the rest behind them. CMake does the work.
BUILD  ?= build
JOBS   ?= $(shell nproc)
PRESET ?= release

.PHONY: all packages configure build demo test check-all check-clang check-asan check-tsan check-fuzz bench soak validate validate-all gallery clean help

all: build

help:
	@echo "make demo      install packages, build, run the main scene, leave a picture and a video in out/demo"
	@echo "make test      install packages, build, run every test"
	@echo "make check-all the tests again with clang and under sanitizers, and the fuzzers; goes on where it was stopped; or one of its parts:"
	@echo "     check-clang    every test, built by clang"
	@echo "     check-asan     every test under the address and undefined-behaviour sanitizers"
	@echo "     check-tsan     every test under the thread sanitizer"
	@echo "     check-fuzz     every fuzzer for FUZZ_SECONDS (30)"
	@echo "make validate  numbers beside theory and experiments, to docs/validation.md;  make validate-all  the costly ones too"
	@echo "make soak      random scenes and what must hold of any run; SOAK='--count 200 --seed 1 --keep out/soak' (docs/soak.md)"
	@echo "make bench     benchmarks;  make gallery  pictures of every bundled scene"

packages:
	@tools/install_packages

configure: packages
	@cmake --preset $(PRESET) -B $(BUILD) > $(BUILD)-configure.log 2>&1 || { cat $(BUILD)-configure.log; exit 1; }
	@grep '^-- repose' $(BUILD)-configure.log || true
	@rm -f $(BUILD)-configure.log

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

demo: build
	@tools/demo $(BUILD)

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

check-all: packages
	@tools/check_all

check-clang check-asan check-tsan check-fuzz: packages
	@tools/check_all $(@:check-%=%)

SOAK ?= --count 100 --seed 1 --keep out/soak
soak: build
	@tools/soak --repose $(BUILD)/repose $(SOAK)

bench: build
	@tools/bench $(BUILD)

validate: build
	@$(BUILD)/repose validate --page docs

validate-all: build
	@$(BUILD)/repose validate --all --page docs

gallery: build
	@tools/gallery $(BUILD)

clean:
	rm -rf build build-* out
