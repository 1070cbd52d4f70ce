// equality.cpp: do all ranks hold the same bytes?
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>

#include "dist/data_parallel.h"
#include "util/diagnostic.h"

namespace trainctl::dist {

namespace {

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

std::string as_text(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel())};
}

}  // namespace

std::string hash_of(const std::vector<at::Tensor>& tensors) {
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_128bits_reset(state.get());
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor host = tensor.detach().contiguous().cpu();
    XXH3_128bits_update(state.get(), host.const_data_ptr(), host.nbytes());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void check_equal(const std::string& hash, Group& group, const std::string& what) {
  at::Tensor mine = at::empty({static_cast<int64_t>(hash.size())}, at::kByte);
  std::copy(hash.begin(), hash.end(), mine.mutable_data_ptr<uint8_t>());
  std::map<std::string, std::vector<int>> ranks_of;
  int rank = 0;
  for (const at::Tensor& theirs : group.all_gather(mine)) ranks_of[as_text(theirs)].push_back(rank++);
  if (ranks_of.size() == 1) return;
  // Most ranks are taken to be right; of equal parts the one with the lowest rank.
  std::vector<std::pair<std::string, std::vector<int>>> parts(ranks_of.begin(), ranks_of.end());
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::make_pair(b.second.size(), a.second.front()) <
           std::make_pair(a.second.size(), b.second.front());
  });
  std::vector<std::string> differing;
  for (size_t i = 1; i < parts.size(); ++i) {
    differing.push_back(fmt::format("rank{} {} ({})", parts[i].second.size() == 1 ? "" : "s",
                                    fmt::join(parts[i].second, ", "), parts[i].first));
  }
  throw InfraError(
      fmt::format("{} differ between ranks: {} from rank{} {} ({})", what, fmt::join(differing, ", "),
                  parts[0].second.size() == 1 ? "" : "s", fmt::join(parts[0].second, ", "), parts[0].first),
      "equal code, seed and data order give equal bytes; a rank with a hardware fault does not");
}

}  // namespace trainctl::dist
