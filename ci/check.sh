#!/usr/bin/env bash
# Checks BPF objects on kernels and writes all reports. Runs in any CI system.
#
# CORE_RELO_OBJECTS: paths, one per line, with globs
# CORE_RELO_KERNELS: one per line: paths, with globs; specifications of kernels to fetch, such as debian:12; core-relo.toml for its list of kernels
#   (default: core-relo.toml)
# CORE_RELO_ARGS: further arguments of `check`, one per line, such as --strict
# CORE_RELO_OUTPUT: the folder for the reports (default: core-relo-report)
# CORE_RELO_BIN: the folder of the command, as for install.sh (default: PATH)
# CORE_RELO_FAIL_ON: the exit statuses of `check` that fail the job
#   refused (default)  1 and 2: a refusal, missing input, an unknown verdict, bad input
#   bad-input          2: an unknown verdict, bad input
#   never              none
set -euo pipefail

fail_on=${CORE_RELO_FAIL_ON:-refused}
case $fail_on in
  refused | bad-input | never) ;;
  *)
    echo "CORE_RELO_FAIL_ON: unknown value: $fail_on, expected refused, bad-input or never" >&2
    exit 2
    ;;
esac

# Expands the globs of the lines of $1 into the array `expanded`.
expand() {
  local IFS=$'\n'
  # Splits at line ends only. A glob without a match stays, and the command names it in an error.
  # shellcheck disable=SC2206
  expanded=($1)
}

if [ -z "${CORE_RELO_OBJECTS:-}" ]; then
  echo "CORE_RELO_OBJECTS: not set, expected paths, one per line" >&2
  exit 2
fi
expand "$CORE_RELO_OBJECTS"
objects=("${expanded[@]}")

if [ -z "${CORE_RELO_KERNELS:-}" ] && [ ! -f core-relo.toml ]; then
  echo "CORE_RELO_KERNELS: not set, and no core-relo.toml, expected paths or specifications, one per line" >&2
  exit 2
fi
expand "${CORE_RELO_KERNELS:-core-relo.toml}"
arguments=()
for kernel in "${expanded[@]}"; do
  # A specification, such as debian:12/newest-of-each-series, is no path.
  if [[ $kernel == core-relo.toml || $kernel == */core-relo.toml || ( $kernel =~ ^[a-z][a-z0-9-]*:[^/] && ! -e $kernel ) ]]; then
    arguments+=("--kernels=$kernel")
  else
    arguments+=("--btf=$kernel")
  fi
done
while IFS= read -r argument; do
  if [ -n "$argument" ]; then
    arguments+=("$argument")
  fi
done <<< "${CORE_RELO_ARGS:-}"

output=${CORE_RELO_OUTPUT:-core-relo-report}
mkdir -p -- "$output"
if [ -n "${CORE_RELO_BIN:-}" ]; then
  PATH=$(realpath -- "$CORE_RELO_BIN"):$PATH
fi

check() {
  core-relo check "${arguments[@]}" --report "$output/report.sarif" --report "$output/report.junit.xml" \
    --report "$output/report.md" --report "$output/report.html" -- "${objects[@]}"
}

status=0
if [ -n "${GITHUB_ACTIONS:-}" ]; then
  # The runner executes lines of the log such as `::add-path::DIR`. Names in objects and kernels must not become commands: the runner ignores
  # them up to a line with a token that no input can know. Both streams are one, so that no line of stderr is read after that line.
  token=$(head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
  echo "::stop-commands::$token"
  check 2>&1 || status=$?
  echo
  echo "::$token::"
else
  check || status=$?
fi

if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$output/report.md" ]; then
  cat -- "$output/report.md" >> "$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  echo "exit-status=$status" >> "$GITHUB_OUTPUT"
fi

case $fail_on in
  refused) exit "$status" ;;
  bad-input) if [ "$status" -ge 2 ]; then exit "$status"; fi ;;
  never) ;;
esac
