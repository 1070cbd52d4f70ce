// devices.h: what this machine has to run on, found without LibTorch, and what `auto` in `launch` becomes.
#pragma once

#include "spec/job_spec.h"

namespace trainctl::launch {

struct Machine {
  int num_gpus = 0;        // NVIDIA devices that this process may use (CUDA_VISIBLE_DEVICES)
  int num_cores = 1;       // that this process may use: its affinity, and its cgroup's quota rounded up
  bool cuda_built = true;  // libtrainctl_cuda.so lies in lib/ of this prefix
};

/// Asks NVIDIA's management library (by dlopen; 0 GPUs where there is none) and the kernel.
Machine this_machine();

/// How many of `installed` devices the value of CUDA_VISIBLE_DEVICES leaves; nullptr: all.  As the driver
/// reads it: a list of numbers or UUIDs that ends at the first one that does not exist.
int num_visible(int installed, const char* cuda_visible_devices);

/// Sets launch.device, nproc_per_node and threads.  Throws InfraError where the job asks for a GPU and none
/// answers, UserError where it asks for more processes than there are GPUs.
void resolve_launch(spec::LaunchSpec& launch, const Machine& machine);

}  // namespace trainctl::launch
