// The launcher's parts that need no process.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "launch/console.h"
#include "launch/devices.h"
#include "launch/line_splitter.h"
#include "launch/root_cause.h"
#include "support/fake_clock.h"
#include "support/files.h"
#include "support/temp_dir.h"
#include "util/atomic_file.h"
#include "util/clock.h"
#include "util/diagnostic.h"

namespace trainctl::launch {

using test::TempDir;

namespace {

/// A console that writes into a file.
struct FileConsole {
  TempDir dir;
  test::FakeClock clock;
  int fd = ::open((dir / "out").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  ~FileConsole() { ::close(fd); }
  Console::Options options(int columns) { return {.fd = fd, .columns = columns, .now_ns = clock.now_ns()}; }
  std::string text() const { return test::read_file(dir / "out"); }
};

GroupEnd group_end(const TempDir& dir, std::vector<WorkerExit> exits) {
  return {.exits = std::move(exits), .start_ns = 0, .attempt_dir = dir.path()};
}

}  // namespace

TEST_CASE("lines come out whole however the bytes arrive", "[launch]") {
  const std::string text = "one\n\ntwo three\nlast without end";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    LineSplitter splitter;
    std::string out;
    const auto on_line = [&](std::string_view line) { out += "[" + std::string(line) + "]"; };
    for (size_t i = 0; i < text.size(); i += piece)
      splitter.feed(std::string_view(text).substr(i, piece), on_line);
    CHECK(out == "[one][][two three]");
    splitter.finish(on_line);
    CHECK(out == "[one][][two three][last without end]");
  }
}

TEST_CASE("an endless line is cut instead of kept", "[launch]") {
  LineSplitter splitter;
  size_t bytes = 0, lines = 0;
  const std::string chunk(1000, 'x');
  const auto on_line = [&](std::string_view line) { bytes += line.size(), ++lines; };
  for (int i = 0; i < 1000; ++i) splitter.feed(chunk, on_line);
  splitter.finish(on_line);
  CHECK(bytes == 1'000'000);
  CHECK(lines >= bytes / (LineSplitter::kMaxLine + chunk.size()));
}

TEST_CASE("without a terminal a status is a plain line every ten seconds", "[launch]") {
  FileConsole file;
  Console console(file.options(0));
  console.status("step 1");
  file.clock.advance_s(9);
  console.status("step 2");
  console.line("saved");
  file.clock.advance_s(1);
  console.status("step 3");
  console.status("step 4");
  console.end_status();
  console.finish();
  CHECK(file.text() == "step 1\nsaved\nstep 3\nstep 4\n");
}

TEST_CASE("on a terminal the status is overwritten and cut to its width", "[launch]") {
  FileConsole file;
  Console console(file.options(8));
  console.status("step 1/9 and more");
  console.line("saved");
  console.end_status();
  console.finish();
  CHECK(file.text() == "\r\033[Kstep 1/\r\033[Ksaved\nstep 1/\n");
}

TEST_CASE("a slow terminal fills the queue and loses nothing", "[launch]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  Console console({.fd = ends[1], .now_ns = monotonic_ns});
  std::string sent;
  for (int i = 0; !console.full(); ++i) {
    const std::string line = "line " + std::to_string(i);
    console.line(line);
    sent += line + "\n";
  }
  CHECK(console.behind());
  std::string got;
  char buffer[65536];
  while (got.size() < sent.size()) {
    const ssize_t n = ::read(ends[0], buffer, sizeof(buffer));
    if (n > 0) got.append(buffer, static_cast<size_t>(n));
    console.flush_some();
    if (n <= 0 && !console.behind()) break;
  }
  CHECK(got == sent);
  ::close(ends[0]);
  ::signal(SIGPIPE, SIG_IGN);
  console.line("to nobody");  // the reader is gone: no error, no queue
  console.flush_some();
  CHECK_FALSE(console.behind());
  ::close(ends[1]);
}

TEST_CASE("CUDA_VISIBLE_DEVICES is read as the driver reads it", "[launch]") {
  CHECK(num_visible(4, nullptr) == 4);
  CHECK(num_visible(4, "") == 0);
  CHECK(num_visible(4, "0,2") == 2);
  CHECK(num_visible(4, "1,-1,2") == 1);
  CHECK(num_visible(4, "3,9,0") == 1);
  CHECK(num_visible(4, "GPU-8932f937,GPU-12") == 2);
  CHECK(num_visible(4, "NoDevFiles") == 0);
  CHECK(num_visible(0, "0") == 0);
}

TEST_CASE("auto in launch becomes what the machine has", "[launch]") {
  const auto resolved = [](spec::LaunchSpec launch, const Machine& machine) {
    resolve_launch(launch, machine);
    return launch;
  };
  const Machine cpus{.num_gpus = 0, .num_cores = 8}, gpus{.num_gpus = 4, .num_cores = 8};
  CHECK(resolved({.nproc_per_node = std::nullopt}, cpus).nproc_per_node == 8);
  CHECK(resolved({.nproc_per_node = std::nullopt}, cpus).threads == 1);
  CHECK(resolved({.nproc_per_node = 3}, cpus).threads == 2);
  CHECK(resolved({.nproc_per_node = 16}, cpus).threads == 1);
  CHECK(resolved({}, cpus).device == spec::Device::kCpu);
  CHECK(resolved({.nproc_per_node = std::nullopt}, gpus).device == spec::Device::kCuda);
  CHECK(resolved({.nproc_per_node = std::nullopt}, gpus).nproc_per_node == 4);
  CHECK(resolved({}, {.num_gpus = 4, .num_cores = 8, .cuda_built = false}).device == spec::Device::kCpu);
  CHECK(resolved({.device = spec::Device::kCpu, .threads = 5}, gpus).threads == 5);
  CHECK_THROWS_AS(resolved({.device = spec::Device::kCuda}, cpus), InfraError);
  CHECK_THROWS_AS(resolved({.nproc_per_node = 5}, gpus), UserError);
}

TEST_CASE("the first to die silently is the culprit and its peers' complaints follow", "[launch]") {
  const TempDir dir;
  test::write_file(log_path(dir.path(), 2), "a\n\nb\nlast words\n");
  run::write_worker_error({.rank = 0, .step = 7, .kind = "infra", .what = "peer silent", .monotonic_ns = 900},
                          dir.path());
  const auto cause =
      find_root_cause(group_end(dir, {{2, 4711, Signalled{SIGKILL}, 1000}, {0, 4709, Exited{3}, 1100}}));
  REQUIRE(cause.has_value());
  CHECK(cause->exit.rank == 2);
  CHECK(cause->last_lines == std::vector<std::string>{"a", "b", "last words"});
  CHECK(exit_code(*cause) == kExitJob);
  CHECK_THAT(render(*cause),
             Catch::Contains("error: rank 2 (pid 4711) was killed by SIGKILL before its first step") &&
                 Catch::Contains("rank-2.log") && Catch::Contains("last words") &&
                 Catch::Contains("out-of-memory"));
}

TEST_CASE("a worker that complains first is the culprit though it ends last", "[launch]") {
  const TempDir dir;
  run::write_worker_error({.rank = 1,
                           .step = 5,
                           .kind = "not_finite",
                           .what = "loss is nan at step 5",
                           .help = "lower `optimizer.lr`",
                           .monotonic_ns = 500},
                          dir.path());
  run::write_worker_error({.rank = 0, .step = 5, .kind = "infra", .what = "peer silent", .monotonic_ns = 700},
                          dir.path());
  const auto cause =
      find_root_cause(group_end(dir, {{0, 10, Exited{3}, 800}, {1, 11, Exited{1}, 2'500'000'000}}));
  REQUIRE(cause.has_value());
  CHECK(cause->exit.rank == 1);
  CHECK_THAT(render(*cause), Catch::Contains("rank 1 (pid 11) failed at step 5") &&
                                 Catch::Contains("loss is nan") &&
                                 Catch::Contains("help: lower `optimizer.lr`"));
}

TEST_CASE("a worker's own kind of error decides the exit code", "[launch]") {
  const auto code = [](const char* kind) {
    return exit_code({.exit = {0, 1, Exited{1}}, .error = run::WorkerError{.kind = kind}});
  };
  CHECK(code("user") == kExitUser);
  CHECK(code("infra") == kExitInfra);
  CHECK(code("not_finite") == kExitJob);
  CHECK(code("bug") == kExitBug);
  CHECK(exit_code({.exit = {0, 1, Exited{3}}}) == kExitInfra);
  CHECK(exit_code({.exit = {0, 1, Exited{77}}}) == kExitJob);
  CHECK(exit_code({.exit = {0, 1, Signalled{SIGSEGV}}}) == kExitJob);
}

TEST_CASE("all ended well means no culprit", "[launch]") {
  const TempDir dir;
  CHECK_FALSE(find_root_cause(group_end(dir, {{0, 1, Exited{0}, 5}, {1, 2, Exited{0}, 6}})).has_value());
}

TEST_CASE("a file is replaced whole or not at all", "[launch]") {
  const TempDir dir;
  write_file_atomically(dir / "f", "old");
  write_file_atomically(dir / "f", "new and longer");
  CHECK(read_file_if_present(dir / "f") == "new and longer");
  CHECK_FALSE(read_file_if_present(dir / "g").has_value());
  std::filesystem::create_directory(dir / "d");
  CHECK_THROWS_AS(write_file_atomically(dir / "d", "x"), InfraError);  // a folder is in the way
  CHECK_THROWS_AS(write_file_atomically(dir / "nowhere" / "f", "x"), InfraError);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path())) ++files;
  CHECK(files == 2);  // f and d: no temporary file is left
}

}  // namespace trainctl::launch
