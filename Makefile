# A front for the CMake presets: every target here is one or two commands that can be typed by hand.
PRESET ?= release
JOBS ?= $(shell nproc)
program := build/$(PRESET)/shardplan

.DEFAULT_GOAL := build
.PHONY: setup build program run test run-exercises check-long bench docs clean

setup:  ## install what is missing from the distribution; nothing when all is there
	@tools/setup.sh

build/%/build.ninja: CMakePresets.json | setup
	@cmake --preset $*
	@touch $@

build: build/$(PRESET)/build.ninja
	@cmake --build --preset $(PRESET) -j $(JOBS)

program: build/$(PRESET)/build.ninja  ## build, without the tests
	@cmake --build --preset $(PRESET) -j $(JOBS) --target shardplan

run: program  ## the main job on an example: Llama 3.1 70B on 64 H100
	@$(program) plan --model examples/llama-3.1-70b/config.json --gpu h100-sxm --gpus 64

test: build  ## all that CI runs
	@ctest --preset test -j $(JOBS)

run-exercises: program  ## the course drills, solved
	@for drill in 1 2 3; do $(program) drill solve $$drill || exit $$?; done

check-long:  ## reports in a browser, sanitizers, second compiler, clang-tidy, format, long fuzz, benchmark; each with its verdict
	@tools/setup.sh --long
	@JOBS=$(JOBS) tools/check_long.sh

bench: build  ## timings, and their ratio to the run before
	@mkdir -p build/bench
	@build/$(PRESET)/bench/shardplan_bench --benchmark_out=build/bench/now.json --benchmark_out_format=json
	@tools/bench_ratio build/bench/now.json

docs: program  ## rewrite the generated pages and the output blocks of the hand-written ones
	@tools/check_generated.sh --write $(program)
	@$(MAKE) program  # the catalog's evidence may have changed
	@tools/doc_blocks --program $(program)

clean:
	@rm -rf build
