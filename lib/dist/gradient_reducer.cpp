// gradient_reducer.cpp: c10d's Reducer, set up and called as Python's DistributedDataParallel does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <tuple>

#include "dist/data_parallel.h"
#include "dist/peer_error.h"
#include "util/diagnostic.h"

namespace trainctl::dist {

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// The first backward uses one bucket for all: the order in which gradients come is not known yet.  The
/// Reducer rebuilds the buckets from that order, within the two limits, before the second forward.
std::shared_ptr<c10d::Reducer> make_reducer(const std::vector<at::Tensor>& tensors,
                                            const std::vector<std::string>& names,
                                            const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                            int64_t bucket_bytes, int64_t first_bucket_bytes) {
  const std::vector<bool> sparse(tensors.size(), false);
  const std::vector<size_t> limits{std::numeric_limits<int64_t>::max()};
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(tensors, limits, sparse));
  std::reverse(buckets.begin(), buckets.end());
  std::unordered_map<size_t, std::string> name_of;
  for (size_t i = 0; i < names.size(); ++i) name_of[i] = names[i];
  return std::make_shared<c10d::Reducer>(
      tensors, buckets, group, sparse, bucket_bytes, /*find_unused_parameters=*/false,
      /*gradient_as_bucket_view=*/true, name_of, first_bucket_bytes,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      /*bucket_bytes_cap_list=*/std::vector<int64_t>{});
}

/// Names from the indices in the Reducer's message "... did not receive grad for rank 0: 0 1 5".
std::vector<std::string> unused_names(const std::string& message, const std::vector<std::string>& names) {
  std::vector<std::string> unused;
  std::smatch list;
  if (!std::regex_search(message, list, std::regex(R"(did not receive grad for rank \d+: ([\d ,]+))")))
    return unused;
  const std::string digits = list[1];
  const std::regex number(R"(\d+)");
  for (auto it = std::sregex_iterator(digits.begin(), digits.end(), number); it != std::sregex_iterator();
       ++it) {
    unused.push_back(names.at(std::stoul(it->str())));
  }
  return unused;
}

}  // namespace

struct GradientReducer::State {
  int rank = 0;
  std::vector<std::string> names;
  std::shared_ptr<c10d::Reducer> reducer;  // null with one rank
  std::shared_ptr<c10d::Logger> logger;    // the Reducer holds it weakly

  /// Rebuilds the buckets once their order is known.  Every time it also checks that the last synchronised
  /// backward gave every parameter a gradient.
  void rebuild_buckets() {
    try {
      with_peers(rank, "agreeing on gradient buckets", [&] { reducer->rebuild_buckets(); });
    } catch (const c10::Error& error) {
      const std::vector<std::string> unused = unused_names(error.what(), names);
      if (unused.empty()) throw;
      throw UserError(
          fmt::format("rank {}: {} of {} parameters got no gradient in the last backward: {}", rank,
                      unused.size(), names.size(), fmt::join(unused, ", ")),
          "data-parallel training averages every gradient; freeze these parameters or use them in the loss");
    }
  }
};

GradientReducer::GradientReducer(std::vector<std::pair<std::string, at::Tensor>> parameters, Group& group,
                                 double bucket_mb, double first_bucket_mb)
    : state_(std::make_unique<State>()) {
  state_->rank = group.rank();
  if (group.process_group() == nullptr) return;
  std::vector<at::Tensor> tensors;
  for (auto& [name, tensor] : parameters) {
    state_->names.push_back(name);
    tensors.push_back(tensor);
  }
  with_peers(group.rank(), "comparing parameter shapes",
             [&] { c10d::verify_params_across_processes(group.process_group(), tensors, /*logger=*/{}); });
  state_->reducer = make_reducer(tensors, state_->names, group.process_group(),
                                 std::llround(bucket_mb * kMiB), std::llround(first_bucket_mb * kMiB));
  state_->logger = std::make_shared<c10d::Logger>(state_->reducer);
  state_->logger->set_construction_data_and_log("trainctl", /*device_ids=*/{}, /*output_device=*/-1,
                                                /*broadcast_buffers=*/false, /*has_sync_bn=*/false,
                                                /*static_graph=*/false);
  state_->reducer->set_logger(state_->logger);
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::prepare_forward(bool sync) {
  if (state_->reducer == nullptr) return;
  if (sync) state_->reducer->prepare_for_forward();
  state_->rebuild_buckets();
}

void GradientReducer::prepare_backward() {
  if (state_->reducer != nullptr) state_->reducer->prepare_for_backward({});
}

void GradientReducer::finish_backward() {
  if (state_->reducer != nullptr) state_->rebuild_buckets();
}

}  // namespace trainctl::dist
