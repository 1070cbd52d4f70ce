// data_parallel.h: ranks that hold equal parameters and different batches, over c10d.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "run/worker_env.h"

namespace trainctl::dist {

/// The ranks of this job.  With one rank nothing is opened and every collective returns at once.
class Group {
 public:
  /// Joins the rendezvous store named by `env` and makes the group.  Collective.
  /// Throws InfraError when not all ranks come within `timeout_s`.
  static std::unique_ptr<Group> join(const run::WorkerEnv& env, device::Backend& backend, double timeout_s);
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void all_reduce_sum(at::Tensor& x) = 0;                       // in place; collective
  virtual void broadcast(at::Tensor& x, int root) = 0;                  // in place; collective
  virtual std::vector<at::Tensor> all_gather(const at::Tensor& x) = 0;  // equal shapes; collective
  virtual void barrier() = 0;
  virtual c10::intrusive_ptr<c10d::ProcessGroup> process_group() = 0;  // null with one rank
};

/// Gradient averaging by c10d's Reducer (DistributedDataParallel's core): buckets, overlapped with backward.
class GradientReducer {
 public:
  GradientReducer(std::vector<std::pair<std::string, at::Tensor>> parameters, Group& group, double bucket_mb,
                  double first_bucket_mb);
  ~GradientReducer();
  /// Before each forward.  `sync` off: this micro-step only accumulates (no communication).
  void prepare_forward(bool sync);
  /// Between forward and backward of a micro-step whose gradients are to be averaged.
  void prepare_backward();
  /// After that backward.  Collective in the first step (it rebuilds the buckets).  Throws UserError naming
  /// the parameters that got no gradient, which is when the gradients of this step were not averaged at all.
  void finish_backward();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-128 (hex) of all tensors' bytes in order, on this rank.
std::string hash_of(const std::vector<at::Tensor>& tensors);
/// Throws InfraError naming ranks where the hash differs between ranks.  Collective.
void check_equal(const std::string& hash, Group& group, const std::string& what);

}  // namespace trainctl::dist
