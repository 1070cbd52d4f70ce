#include "precision/compute_scope.h"

#include <ATen/autocast_mode.h>

namespace trainctl::precision {

namespace autocast = at::autocast;

ComputeScope::ComputeScope(spec::ComputeDtype dtype, at::DeviceType device)
    : device_(device), active_(dtype != spec::ComputeDtype::kFp32) {
  if (!active_) return;
  enabled_before_ = autocast::is_autocast_enabled(device);
  dtype_before_ = autocast::get_autocast_dtype(device);
  cache_before_ = autocast::is_autocast_cache_enabled();
  autocast::set_autocast_enabled(device, true);
  autocast::set_autocast_dtype(device, dtype == spec::ComputeDtype::kFp16 ? at::kHalf : at::kBFloat16);
  autocast::set_autocast_cache_enabled(true);
  autocast::increment_nesting();
}

ComputeScope::~ComputeScope() {
  if (!active_) return;
  if (autocast::decrement_nesting() == 0) autocast::clear_cache();
  autocast::set_autocast_enabled(device_, enabled_before_);
  autocast::set_autocast_dtype(device_, dtype_before_);
  autocast::set_autocast_cache_enabled(cache_before_);
}

}  // namespace trainctl::precision
