#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks, from the distribution's packages (Debian 12 or
# later, Ubuntu 22.04 or later). With --long, also the tools of `make check-long`. Prints nothing when all is there.
set -euo pipefail

missing=()

need_program() {  # need_program COMMAND PACKAGE
  command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

need_libraries() {  # need_libraries PACKAGE...
  local installed package
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qx "$package installed" <<<"$installed" || missing+=("$package")
  done
}

install_missing() {
  ((${#missing[@]})) || return 0
  local as_root=()
  if (($(id -u) != 0)); then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "setup: needs root or sudo to install: ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    apt-get -q -y -o DPkg::Lock::Timeout=300)
  if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } </dev/null >&2; then
    echo "setup: could not install: ${missing[*]} (apt-get's message is above)" >&2
    exit 2
  fi
  missing=()
}

has_libfuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address -x c++ -o /dev/null - >/dev/null 2>&1
}

need_program g++ g++
need_program cmake cmake
need_program ninja ninja-build
need_program ccache ccache
need_program python3 python3
if command -v dpkg-query >/dev/null 2>&1; then
  need_libraries nlohmann-json3-dev libfmt-dev libcli11-dev libtomlplusplus-dev libcsv-dev libgtest-dev libgmock-dev libbenchmark-dev
elif ((${#missing[@]})); then
  echo "setup: this is not a Debian-family system; install by its own means: ${missing[*]}," \
    "nlohmann-json 3.10, fmt 8, CLI11 2.1, toml++ 3, libcsv 3, GoogleTest, Google Benchmark, or later" >&2
  exit 2
fi
if [[ ${1:-} == --long ]]; then
  need_program clang++ clang
  need_program clang-format clang-format
  need_program clang-tidy clang-tidy
  need_program node nodejs
  need_program npm npm
  need_program chromium chromium
  ! command -v dpkg-query >/dev/null 2>&1 || need_libraries fonts-dejavu-core
fi
install_missing

# Where clang's run-time library is a package of its own, its name carries clang's version.
if [[ ${1:-} == --long ]] && ! has_libfuzzer; then
  missing=("libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev")
  install_missing
fi
