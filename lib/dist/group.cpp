#include "dist/group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include "dist/peer_error.h"

namespace trainctl::dist {

namespace {

using c10d::ProcessGroup;

class ProcessGroupOfRanks : public Group {
 public:
  ProcessGroupOfRanks(c10::intrusive_ptr<ProcessGroup> group, at::Device device, std::string name)
      : group_(std::move(group)), device_(device), name_(std::move(name)) {
    c10d::register_process_group(name_, group_);
  }
  ~ProcessGroupOfRanks() override { c10d::unregister_process_group(name_); }
  int rank() const override { return group_->getRank(); }
  int size() const override { return group_->getSize(); }

  void all_reduce_sum(at::Tensor& x) override {
    with_peers(rank(), "an all-reduce", [&] {
      std::vector<at::Tensor> tensors{x};
      group_->allreduce(tensors)->wait();
    });
  }

  void broadcast(at::Tensor& x, int root) override {
    with_peers(rank(), "a broadcast", [&] {
      std::vector<at::Tensor> tensors{x};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      group_->broadcast(tensors, options)->wait();
    });
  }

  std::vector<at::Tensor> all_gather(const at::Tensor& x) override {
    at::Tensor mine = x.to(device_).contiguous().view(-1);  // gloo gathers along dim 0 only
    at::Tensor all = at::empty({size() * mine.numel()}, mine.options());
    with_peers(rank(), "an all-gather", [&] { group_->_allgather_base(all, mine)->wait(); });
    std::vector<int64_t> shape = x.sizes().vec();
    shape.insert(shape.begin(), size());
    return all.view(shape).to(x.device()).unbind(0);
  }

  // An all-reduce of one number, read back: NCCL's own barrier() only orders streams.
  void barrier() override {
    at::Tensor one = at::zeros({1}, at::TensorOptions(device_));
    with_peers(rank(), "a barrier", [&] {
      std::vector<at::Tensor> tensors{one};
      group_->allreduce(tensors)->wait();
      one.cpu();
    });
  }

  c10::intrusive_ptr<ProcessGroup> process_group() override { return group_; }

 private:
  c10::intrusive_ptr<ProcessGroup> group_;
  at::Device device_;
  std::string name_;
};

ProcessGroup::BackendType backend_type(at::Device device) {
  return device.is_cuda() ? ProcessGroup::BackendType::NCCL : ProcessGroup::BackendType::GLOO;
}

}  // namespace

std::unique_ptr<Group> make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                  device::Backend& backend, std::chrono::milliseconds timeout,
                                  const std::string& name) {
  std::unique_ptr<Group> group;
  with_peers(rank, "connecting to the peers", [&] {
    auto transport = backend.make_process_group_backend(store, rank, size, timeout);
    // The group that the dispatcher, the Reducer and the functional collectives want.
    auto process_group = c10::make_intrusive<ProcessGroup>(store, rank, size);
    process_group->setBackend(backend.device().type(), backend_type(backend.device()), transport);
    process_group->setDefaultBackend(backend_type(backend.device()));
    process_group->setGroupName(name);
    group = std::make_unique<ProcessGroupOfRanks>(std::move(process_group), backend.device(), name);
  });
  return group;
}

}  // namespace trainctl::dist
