// group.h: a Group over any store.  Workers join by Group::join (data_parallel.h); tests make ranks of
// threads.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/data_parallel.h"

namespace trainctl::dist {

/// The group of the `size` ranks that share `store`, made in c10d's registry as `name` until it is destroyed,
/// so that functional collectives find it; `name` is this process's own matter.  Collective, also with one
/// rank (no shortcut).  Throws InfraError when a peer does not connect within `timeout`, which also limits
/// each collective.
std::unique_ptr<Group> make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                  device::Backend& backend, std::chrono::milliseconds timeout,
                                  const std::string& name);

}  // namespace trainctl::dist
