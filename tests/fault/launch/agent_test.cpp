// The agent with real processes: shell scripts that die, hang and flood.  The kill timeout is short here;
// times are upper bounds that a loaded machine still keeps.
#include "launch/agent.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "launch/console.h"
#include "launch/root_cause.h"
#include "support/files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "util/clock.h"
#include "util/diagnostic.h"

namespace trainctl::launch {

using namespace std::chrono_literals;
using test::TempDir;

namespace {

/// One group of `sh -c script` and what came of it.
struct Group {
  TempDir dir;
  std::string mark = "TRAINCTL_TEST_MARK=" + dir.path().string();

  GroupPlan plan(const std::string& script, int num_workers) const {
    return {.command = {"/bin/sh", "-c", script},
            .num_workers = num_workers,
            .environment = {mark},
            .attempt_dir = dir.path(),
            .kill_timeout = 300ms};
  }
  GroupEnd run(const GroupPlan& group_plan) {
    const int fd = ::open((dir / "terminal").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    Console console({.fd = fd, .now_ns = monotonic_ns});
    GroupEnd end = run_group(group_plan, console);
    console.finish();
    ::close(fd);
    return end;
  }
  GroupEnd run(const std::string& script, int num_workers) { return run(plan(script, num_workers)); }
  std::string terminal() const { return test::read_file(dir / "terminal"); }  // what the console showed
  std::string log(int rank) const { return test::read_file(log_path(dir.path(), rank)); }
  bool nothing_left() const { return test::processes_with(mark).empty(); }
};

const WorkerExit& exit_of(const GroupEnd& end, int rank) {
  for (const WorkerExit& e : end.exits) {
    if (e.rank == rank) return e;
  }
  throw std::logic_error("no such rank");
}

int signal_of(const GroupEnd& end, int rank) {
  const auto* const signalled = std::get_if<Signalled>(&exit_of(end, rank).end);
  return signalled == nullptr ? 0 : signalled->signal;
}

/// Descriptors of this process that a child gets, as it got them from whoever runs the tests.
int num_inherited_fds() {
  int num = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++num;
  }
  return num;
}

}  // namespace

TEST_CASE("workers that end well are reported in full", "[fault]") {
  Group group;
  const GroupEnd end = group.run("echo hello $RANK/$WORLD_SIZE; echo oops >&2; exit 0", 3);
  CHECK(end.exits.size() == 3);
  CHECK_FALSE(find_root_cause(end).has_value());
  for (int rank = 0; rank < 3; ++rank)
    CHECK(group.log(rank) == "hello " + std::to_string(rank) + "/3\noops\n");
  CHECK_THAT(group.terminal(), Catch::Contains("hello 0/3") && !Catch::Contains("hello 1/3"));
}

TEST_CASE("rank 0 alone inherits the listening socket whose port all know", "[fault]") {
  Group group;
  group.run(
      "echo $MASTER_ADDR:$MASTER_PORT ${TRAINCTL_STORE_FD:-none};"
      "test -z \"$TRAINCTL_STORE_FD\" || readlink /proc/self/fd/$TRAINCTL_STORE_FD; ls /proc/self/fd | wc -l",
      2);
  CHECK_THAT(group.log(0), Catch::Contains("127.0.0.1:") && Catch::Contains("socket:["));
  const std::string count = std::to_string(num_inherited_fds() + 1);    // ls has the folder open
  CHECK_THAT(group.log(1), Catch::Contains(" none\n" + count + "\n"));  // nothing of the agent leaks in
  CHECK(group.log(0).substr(0, group.log(0).find(' ')) == group.log(1).substr(0, group.log(1).find(' ')));
}

TEST_CASE("when a worker dies the others are stopped at once", "[fault]") {
  Group group;
  const auto start = monotonic_ns();
  const GroupEnd end = group.run("test $RANK = 1 && kill -9 $$; exec sleep 60", 3);
  CHECK(monotonic_ns() - start < 5'000'000'000);
  CHECK(end.exits.front().rank == 1);
  CHECK(signal_of(end, 1) == SIGKILL);
  CHECK(signal_of(end, 0) == SIGTERM);
  CHECK(find_root_cause(end)->exit.rank == 1);
  CHECK(group.nothing_left());
}

TEST_CASE("an exit code is named and its last words are shown", "[fault]") {
  Group group;
  const GroupEnd end = group.run("test $RANK = 1 && { echo no luck >&2; exit 7; }; exec sleep 60", 2);
  const auto cause = find_root_cause(end);
  REQUIRE(cause.has_value());
  CHECK_THAT(render(*cause), Catch::Contains("rank 1") && Catch::Contains("exited with code 7") &&
                                 Catch::Contains("no luck"));
}

TEST_CASE("a worker that ignores SIGTERM is killed after the grace", "[fault]") {
  Group group;
  const auto start = monotonic_ns();
  const GroupEnd end =
      group.run("test $RANK = 1 && { sleep 0.2; exit 3; }; trap '' TERM; while :; do sleep 0.05; done", 2);
  CHECK(signal_of(end, 0) == SIGKILL);
  CHECK(monotonic_ns() - start >= 300'000'000);  // the grace was given
  CHECK(monotonic_ns() - start < 5'000'000'000);
  CHECK(find_root_cause(end)->exit.rank == 1);
}

TEST_CASE("a stopped worker is woken to take its SIGTERM", "[fault]") {
  Group group;
  const GroupEnd end = group.run(
      "test $RANK = 1 && { sleep 0.3; exit 3; }; trap 'echo saved; exit 0' TERM; kill -STOP $$; sleep 60 & "
      "wait",
      2);
  CHECK(is_good(exit_of(end, 0).end));
  CHECK(group.log(0) == "saved\n");
}

TEST_CASE("a program that does not exist says so in its log", "[fault]") {
  Group group;
  GroupPlan plan = group.plan("", 1);
  plan.command = {"/nowhere/program"};
  const auto cause = find_root_cause(group.run(plan));
  REQUIRE(cause.has_value());
  CHECK_THAT(render(*cause),
             Catch::Contains("code 127") && Catch::Contains("cannot execute /nowhere/program: No such file"));
}

TEST_CASE("what workers leave running is killed at the end", "[fault]") {
  Group group;
  const GroupEnd end = group.run("setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' & sleep 0.2", 2);
  CHECK(end.leftovers >= 2);
  CHECK(group.nothing_left());
}

TEST_CASE("one signal lets the workers finish", "[fault]") {
  Group group;
  GroupPlan plan = group.plan(
      "trap 'sleep 0.3; echo saved; exit 0' INT TERM; kill -INT $PPID; while :; do sleep 0.05; done", 1);
  plan.kill_timeout = 20s;
  const GroupEnd end = group.run(plan);
  CHECK(end.stop_signal == SIGINT);
  CHECK(is_good(exit_of(end, 0).end));
  CHECK_THAT(group.log(0), Catch::Contains("saved"));
}

TEST_CASE("a second signal ends it now", "[fault]") {
  Group group;
  GroupPlan plan = group.plan(
      "trap '' INT TERM; kill -INT $PPID; sleep 0.5; kill -INT $PPID; while :; do sleep 0.05; done", 1);
  plan.kill_timeout = 60s;
  const auto start = monotonic_ns();
  const GroupEnd end = group.run(plan);
  CHECK(signal_of(end, 0) == SIGKILL);
  CHECK(monotonic_ns() - start < 20'000'000'000);
}

TEST_CASE("the same wish sent twice at once is one wish", "[fault]") {
  Group group;
  GroupPlan plan = group.plan(
      "trap 'sleep 0.5; echo saved; exit 0' TERM; kill -TERM $PPID; sleep 0.02; kill -TERM $PPID;"
      "while :; do sleep 0.05; done",
      1);
  plan.kill_timeout = 20s;
  group.run(plan);
  CHECK_THAT(group.log(0), Catch::Contains("saved"));
}

TEST_CASE("a flood of output is kept whole in bounded memory", "[fault]") {
  Group group;
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  group.run("yes $(printf %099d 0) | head -c 100000000", 2);
  ::getrusage(RUSAGE_SELF, &after);
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(std::filesystem::file_size(log_path(group.dir.path(), rank)) == 100'000'000);
  }
  CHECK(std::filesystem::file_size(group.dir / "terminal") == 100'000'000);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these keep freed memory
  CHECK(after.ru_maxrss - before.ru_maxrss < 10'000);                // KB; the queue and one read are 320 KB
#endif
}

TEST_CASE("a full disk under a log does not hang the run", "[fault]") {
  Group group;
  std::filesystem::create_symlink("/dev/full", log_path(group.dir.path(), 0));
  const GroupEnd end = group.run("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done", 1);
  CHECK(is_good(exit_of(end, 0).end));
  CHECK_THAT(group.terminal(), Catch::Contains("cannot write") && Catch::Contains("No space left") &&
                                   Catch::Contains("line 1999"));
}

TEST_CASE("a log that cannot be opened ends the start", "[fault]") {
  Group group;
  std::filesystem::create_directory(log_path(group.dir.path(), 1));
  CHECK_THROWS_AS(group.run("exec sleep 60", 2), InfraError);
  CHECK(group.nothing_left());
}

}  // namespace trainctl::launch
