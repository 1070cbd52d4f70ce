// join.cpp: how the ranks of a job come together.
#include <fmt/format.h>
#include <unistd.h>

#include <future>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "dist/group.h"
#include "dist/peer_error.h"
#include "util/diagnostic.h"

namespace trainctl::dist {

namespace {

using Store = c10::intrusive_ptr<c10d::Store>;
using std::chrono::milliseconds;

/// The only rank of its job: nothing to do.
class Alone : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(at::Tensor&) override {}
  void broadcast(at::Tensor&, int) override {}
  std::vector<at::Tensor> all_gather(const at::Tensor& x) override { return {x.clone()}; }
  void barrier() override {}
  c10::intrusive_ptr<c10d::ProcessGroup> process_group() override { return nullptr; }
};

/// TCPStore's constructor on a thread of its own: it waits without a limit for a server that accepts and
/// never answers (rank 0 died, and the launcher still holds its listening socket).  The thread is then left
/// behind.
std::future<Store> start_store(const std::string& host, const c10d::TCPStoreOptions& options) {
  std::promise<Store> promise;
  std::future<Store> store = promise.get_future();
  std::thread([host, options, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(c10::make_intrusive<c10d::TCPStore>(host, options));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  return store;
}

Store open_store(const run::WorkerEnv& env, milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(env.master_port);
  options.isServer = env.store_fd >= 0;
  if (options.isServer) options.masterListenFd = env.store_fd;
  options.waitWorkers = false;  // wait_for_all says who is missing; TCPStore would not
  options.timeout = timeout;
  const auto failed = [&](const std::string& why) {
    return InfraError(fmt::format("rank {} cannot {} the rendezvous store at {}:{} within {:.1f} s: {}",
                                  env.rank, options.isServer ? "serve" : "reach", env.master_addr,
                                  env.master_port, static_cast<double>(timeout.count()) / 1000, why),
                      options.isServer ? "" : "rank 0 serves the store; its log says whether it started");
  };
  std::future<Store> store = start_store(env.master_addr, options);
  // A little longer than the constructor's own limit, whose message says more.
  if (store.wait_for(timeout + milliseconds(500)) != std::future_status::ready) {
    throw failed("it accepts connections and does not answer");
  }
  try {
    return store.get();
  } catch (const std::exception& error) {
    throw failed(first_line(error));
  }
}

/// Tells the others that this rank is here and waits until all are.
void wait_for_all(const Store& store, int rank, int size, milliseconds timeout) {
  const auto key = [](int r) { return fmt::format("here/{}", r); };
  std::vector<std::string> keys;
  for (int r = 0; r < size; ++r) keys.push_back(key(r));
  const auto missing = [&] {
    std::vector<int> ranks;
    for (int r = 0; r < size; ++r) {
      if (!store->check({key(r)})) ranks.push_back(r);
    }
    return ranks;
  };
  store->set(key(rank), std::to_string(getpid()));
  try {
    store->wait(keys, timeout);
  } catch (const c10::DistStoreError&
               error) {  // also thrown when the store's server is gone: then missing() throws
    const std::vector<int> ranks = missing();
    if (ranks.empty()) return;  // the last came while we asked
    throw InfraError(fmt::format("rank {} waited {:.1f} s for the other ranks of {}; missing: rank{} {}",
                                 rank, static_cast<double>(timeout.count()) / 1000, size,
                                 ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", ")),
                     "see the logs of the missing ranks; `launch.timeout_s` is how long to wait");
  }
}

}  // namespace

std::unique_ptr<Group> Group::join(const run::WorkerEnv& env, device::Backend& backend, double timeout_s) {
  if (env.world_size == 1) return std::make_unique<Alone>();
  const milliseconds timeout(static_cast<int64_t>(timeout_s * 1000));
  const Store tcp = open_store(env, timeout);
  const auto store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("attempt-{}", env.attempt), tcp);
  with_peers(env.rank, "the rendezvous", [&] { wait_for_all(store, env.rank, env.world_size, timeout); });
  const auto group_store = c10::make_intrusive<c10d::PrefixStore>("default", store);
  return make_group(group_store, env.rank, env.world_size, backend, timeout, "default");
}

}  // namespace trainctl::dist
