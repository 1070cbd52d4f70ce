# lib.sh: what quickstart.sh and test.sh share.  Sourced, with the project's root as the working folder.

# Configures each time: a LibTorch of another kind, or CUDA's headers, may have come since.
build() {  # build PRESET TARGETS...: builds what changed; quiet unless it fails
  local preset=$1 log
  shift
  mkdir -p build
  log=build/$preset.log
  echo "building ($preset preset; log in $log)"
  if ! cmake --preset "$preset" >"$log" 2>&1 ||
    ! cmake --build --preset "$preset" ${1:+--target "$@"} >>"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "the build failed; the whole log is in $log" >&2
    return 1
  fi
}
