# lib.sh: what quickstart.sh, test.sh and bench.sh share.  Sourced, with the project's root as the working folder.

# The set-up that this machine has or should get: CPUs, unless a GPU, TRAINCTL_LIBTORCH or an option says otherwise.
build() {  # build PRESET TARGETS...: configures once, builds what changed; quiet unless it fails
  local preset=$1 log
  shift
  mkdir -p build
  log=build/$preset.log
  echo "building ($preset preset; log in $log)"
  if ! { [ -e "build/$preset/build.ninja" ] || cmake --preset "$preset"; } >"$log" 2>&1 ||
    ! cmake --build --preset "$preset" ${1:+--target "$@"} >>"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "the build failed; the whole log is in $log" >&2
    return 1
  fi
}
