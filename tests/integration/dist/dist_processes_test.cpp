// Ranks as processes: what they see when a peer dies, hangs or never comes.
#include "integration/dist/ranks.h"

using namespace trainctl::test;

TEST_CASE("three processes join through the inherited socket and sum", "[dist]") {
  for (const Ended& end : run_ranks(3, "sum", "60")) {
    INFO(end.out);
    CHECK(exited(end, 0));
    CHECK(end.out == "sum 6\n");
  }
}

TEST_CASE("a rank killed in an all-reduce is an infrastructure error for the others at once", "[dist]") {
  const std::vector<Ended> ended = run_ranks(4, "killed", "50");
  REQUIRE(WIFSIGNALED(ended[3].status));
  CHECK(WTERMSIG(ended[3].status) == SIGKILL);
  for (int rank = 0; rank < 3; ++rank) {
    INFO(ended[rank].out);
    CHECK(exited(ended[rank], 3));
    CHECK_THAT(ended[rank].out, Catch::Contains("rank " + std::to_string(rank) + ": an all-reduce failed: "));
    // Anchor: peers end within 5 s of the death; far less than the timeout of 50 s.
    CHECK(ended[rank].after_s - ended[3].after_s < 5);
  }
}

TEST_CASE("a silent peer is an infrastructure error after the timeout", "[dist]") {
  const std::vector<Ended> ended = run_ranks(2, "silent", "2");
  INFO(ended[0].out);
  CHECK(exited(ended[0], 3));
  CHECK_THAT(ended[0].out, Catch::Contains("rank 0: an all-reduce failed: ") && Catch::Contains("2000ms"));
  CHECK(ended[0].after_s < ended[1].after_s);  // it did not wait for the sleeper to wake
}

TEST_CASE("a peer that never joins is named after the timeout", "[dist]") {
  const Listener listener;
  const auto ended = wait_all({start(0, 4, "sum", "2", listener), start(2, 4, "sum", "2", listener)});
  for (const Ended& end : ended) {
    INFO(end.out);
    CHECK(exited(end, 3));
  }
  // Both may give up first, and the store ends with rank 0: only rank 0 always can ask who is missing.
  CHECK_THAT(ended[0].out,
             Catch::Contains("rank 0 waited 2.0 s for the other ranks of 4; missing: ranks 1, 3"));
}

TEST_CASE("a store that nobody serves is an infrastructure error after the timeout", "[dist]") {
  const Listener
      listener;  // listens, as the launcher's socket does before rank 0 takes it, and never answers
  const auto ended = wait_all({start(1, 2, "sum", "2", listener)});
  INFO(ended[0].out);
  CHECK(exited(ended[0], 3));
  CHECK_THAT(ended[0].out, Catch::Contains("rank 1 cannot reach the rendezvous store at 127.0.0.1:" +
                                           std::to_string(listener.port) + " within 2.0 s"));
  CHECK(ended[0].after_s < 20);
}
