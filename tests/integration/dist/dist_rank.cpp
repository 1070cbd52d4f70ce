// dist_rank.cpp: one rank of a job, started by dist_processes_test.cpp, and by hand for `time`.
//   dist_rank <what> <timeout_s>     environment: run/worker_env.h
// Prints what it found on stdout.  Exits 0, or 3 on an InfraError, whose text it prints.
#include <fmt/format.h>
#include <torch/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "dist/data_parallel.h"
#include "util/diagnostic.h"

namespace {

using namespace trainctl;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void sum(dist::Group& group) {
  at::Tensor x = at::full({1000}, group.rank() + 1.0);
  group.all_reduce_sum(x);
  fmt::print("sum {}\n", x[999].item<double>());
}

/// Rank `size - 1` dies while the others sit in an all-reduce.
void killed(dist::Group& group) {
  at::Tensor x = at::ones({1 << 20});
  group.all_reduce_sum(x);
  if (group.rank() == group.size() - 1) kill(getpid(), SIGKILL);
  group.all_reduce_sum(x);
}

/// Rank `size - 1` stops answering after the first all-reduce.
void silent(dist::Group& group) {
  at::Tensor x = at::ones({16});
  group.all_reduce_sum(x);
  if (group.rank() == group.size() - 1) std::this_thread::sleep_for(std::chrono::seconds(5));
  group.all_reduce_sum(x);
}

/// 16 MB of FP32, and a step of a linear stack with and without the reducer.
void measure_costs(dist::Group& group) {
  const int n = 20;
  at::Tensor x = at::ones({4 << 20});
  for (int i = 0; i < 3; ++i) group.all_reduce_sum(x);
  auto start = Clock::now();
  for (int i = 0; i < n; ++i) group.all_reduce_sum(x);
  if (group.rank() == 0) fmt::print("allreduce_16mb_ms {:.2f}\n", ms_since(start) / n);

  std::vector<std::pair<std::string, at::Tensor>> parameters;
  for (int i = 0; i < 48; ++i) {
    parameters.emplace_back(fmt::format("w{}", i), (at::randn({128, 128}) * 0.05).requires_grad_());
  }
  dist::GradientReducer reducer(parameters, group, 25, 1);
  const at::Tensor input = at::randn({64, 128});
  for (const bool sync : {false, true}) {
    for (int step = 0; step < 2 * n; ++step) {
      if (step == n) start = Clock::now();
      reducer.prepare_forward(sync);
      at::Tensor h = input;
      for (auto& [name, w] : parameters) h = h.matmul(w).relu();
      if (sync) reducer.prepare_backward();
      h.sum().backward();
      if (sync) reducer.finish_backward();
    }
    if (group.rank() == 0) fmt::print("step_ms sync={} {:.2f}\n", sync, ms_since(start) / n);
  }
}

/// `count` numbers in [-0.5, 0.5) from a formula that ddp_oracle.py shares.
at::Tensor values(int64_t count, int64_t seed) {
  return ((at::arange(count) * 7919 + seed * 104729) % 1000).to(at::kFloat) / 1000 - 0.5;
}

/// The training of ddp_oracle.py.
void ddp(dist::Group& group) {
  std::vector<std::pair<std::string, at::Tensor>> parameters;
  for (int i = 0; i < 8; ++i) {
    parameters.emplace_back(fmt::format("w{}", i),
                            (values(64 * 64, i) * 0.3).view({64, 64}).requires_grad_());
  }
  dist::GradientReducer reducer(parameters, group, 0.05, 0.05);
  for (int step = 0; step < 4; ++step) {
    reducer.prepare_forward(true);
    at::Tensor h = values(16 * 64, 100 + 10 * step + group.rank()).view({16, 64});
    for (auto& [name, w] : parameters) h = h.matmul(w).tanh();
    const at::Tensor loss = h.square().sum();
    reducer.prepare_backward();
    loss.backward();
    reducer.finish_backward();
    const at::NoGradGuard no_grad;
    for (auto& [name, w] : parameters) {
      w.sub_(w.grad(), 0.1);
      w.mutable_grad().zero_();
    }
  }
  std::vector<at::Tensor> flat;
  for (auto& [name, w] : parameters) flat.push_back(w.detach().flatten());
  const at::Tensor bits = at::cat(flat).view(at::kInt).to(at::kLong);
  fmt::print("checksum {}\n", (bits * (at::arange(bits.numel()) % 1009 + 1)).sum().item<int64_t>());
}

const std::map<std::string, std::function<void(dist::Group&)>> kBehaviours = {
    {"sum", sum}, {"killed", killed}, {"silent", silent}, {"ddp", ddp}, {"costs", measure_costs}};

}  // namespace

int main(int, char** argv) {
  const auto start = Clock::now();
  try {
    const run::WorkerEnv env = run::worker_env_from_process();
    const auto cpu = device::make_backend("cpu", env.local_rank, 1);
    const auto joining = Clock::now();
    const auto group = dist::Group::join(env, *cpu, std::stod(argv[2]));
    if (env.rank == 0 && std::string(argv[1]) == "costs") fmt::print("join_ms {:.1f}\n", ms_since(joining));
    kBehaviours.at(argv[1])(*group);
    group->barrier();
  } catch (const InfraError& error) {
    fmt::print("infra after {:.0f} ms: {}\n", ms_since(start), error.what());
    std::fflush(stdout);
    _exit(kExitInfra);  // as a worker does: its peers see the closed connections
  }
  return 0;
}
