#!/usr/bin/env bash
# The checks that take too long for every change. Each step stands alone, logs to build/check-long/STEP.log and gets
# a verdict; the exit status is 1 if any failed. `tools/check_long.sh STEP...` runs only those named.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${JOBS:-$(nproc)}
fuzz_seconds=${FUZZ_SECONDS:-60}
logs=build/check-long
mkdir -p "$logs"

cpp_files() {
  find . \( -path ./build -o -path ./.git \) -prune -o \( -name '*.cpp' -o -name '*.h' \) -print | sort
}

step_format() {
  cpp_files | xargs clang-format --dry-run -Werror
}

step_sanitize() {
  cmake --preset sanitize && cmake --build --preset sanitize -j "$jobs" && ctest --preset sanitize -j "$jobs"
}

step_clang() {
  cmake --preset clang && cmake --build --preset clang -j "$jobs" && ctest --preset clang -j "$jobs"
}

step_tidy() {  # reads build/clang/compile_commands.json, and the embedded catalog that the build makes
  cmake --preset clang && cmake --build --preset clang -j "$jobs" &&
    find src -name '*.cpp' ! -name '*_test.cpp' | sort |
    xargs -P "$jobs" -n 4 clang-tidy -p build/clang --quiet --warnings-as-errors='*'
}

step_fuzz() {
  cmake --preset fuzz && cmake --build --preset fuzz -j "$jobs" --target fuzzers || return 1
  local driver name
  for driver in build/fuzz/tests/fuzz/libfuzzer_*; do
    name=${driver##*/libfuzzer_}
    mkdir -p "$logs/corpus_$name"
    "$driver" -max_total_time="$fuzz_seconds" -timeout=10 -max_len=65536 -print_final_stats=1 \
      -artifact_prefix="$logs/crash_${name}_" "$logs/corpus_$name" "tests/fuzz/corpus/$name" || return 1
  done
}

step_report() {  # the driver and the rules come from npm, by the lock file
  make --no-print-directory program && mkdir -p build/check-report &&
    cp tools/check_report/package.json tools/check_report/package-lock.json build/check-report/ &&
    npm ci --prefix build/check-report --no-audit --no-fund &&
    tools/check_report/check_report.js build/release/shardplan build/check-report
}

step_bench() {
  make --no-print-directory bench
}

steps=("$@")
((${#steps[@]})) || steps=(format report sanitize clang tidy fuzz bench)
failed=0
for step in "${steps[@]}"; do
  if ! declare -F "step_$step" >/dev/null; then
    echo "check-long: no step '$step'; there are format, report, sanitize, clang, tidy, fuzz, bench" >&2
    exit 2
  fi
  started=$SECONDS
  if "step_$step" >"$logs/$step.log" 2>&1 </dev/null; then
    verdict=passed
  else
    verdict="FAILED, last lines of $logs/$step.log:"
    failed=1
  fi
  printf 'check-long: %-8s %5d s  %s\n' "$step" $((SECONDS - started)) "$verdict"
  [[ $verdict == passed ]] || tail -n 25 "$logs/$step.log"
  [[ $step != bench || $verdict != passed ]] || grep -E '^ *([0-9.]+ x|new)  ' "$logs/$step.log"
done
exit "$failed"
