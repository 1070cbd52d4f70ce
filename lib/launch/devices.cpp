#include "launch/devices.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "util/atomic_file.h"
#include "util/diagnostic.h"

namespace trainctl::launch {

namespace {

int num_installed_gpus() {
  void* const nvml = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml == nullptr) return 0;
  const auto init = reinterpret_cast<int (*)()>(::dlsym(nvml, "nvmlInit_v2"));
  const auto count = reinterpret_cast<int (*)(unsigned*)>(::dlsym(nvml, "nvmlDeviceGetCount_v2"));
  unsigned num = 0;
  const bool ok = init != nullptr && count != nullptr && init() == 0 && count(&num) == 0;
  return ok ? static_cast<int>(num) : 0;  // left loaded: unloading costs more than it frees
}

/// The cgroup's limit on cores (cpu.max is "quota period" or "max period"), or `otherwise`.
double cgroup_cores(double otherwise) {
  std::istringstream line(read_file_if_present("/sys/fs/cgroup/cpu.max").value_or(""));
  double quota = 0, period = 0;
  return line >> quota >> period && quota > 0 && period > 0 ? quota / period : otherwise;
}

int num_usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, static_cast<int>(std::ceil(std::min<double>(cores, cgroup_cores(cores)))));
}

}  // namespace

int num_visible(int installed, const char* cuda_visible_devices) {
  if (cuda_visible_devices == nullptr) return installed;
  std::istringstream list(cuda_visible_devices);
  int visible = 0;
  for (std::string entry; std::getline(list, entry, ',') && visible < installed; ++visible) {
    if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) continue;
    char* end = nullptr;
    const int64_t index = std::strtol(entry.c_str(), &end, 10);
    if (end == entry.c_str() || index < 0 || index >= installed) break;
  }
  return visible;
}

Machine this_machine() {
  std::error_code error;
  const auto exe = std::filesystem::read_symlink("/proc/self/exe", error);
  return {.num_gpus = num_visible(num_installed_gpus(), std::getenv("CUDA_VISIBLE_DEVICES")),
          .num_cores = num_usable_cores(),
          .cuda_built = std::filesystem::exists(
              exe.parent_path().parent_path() / "lib" / "libtrainctl_cuda.so", error)};
}

void resolve_launch(spec::LaunchSpec& launch, const Machine& machine) {
  using spec::Device;
  if (launch.device == Device::kAuto) {
    launch.device = machine.num_gpus > 0 && machine.cuda_built ? Device::kCuda : Device::kCpu;
  }
  const bool on_gpus = launch.device == Device::kCuda;
  if (on_gpus && machine.num_gpus == 0) {
    throw InfraError("`launch.device` is cuda, but no NVIDIA GPU answers here",
                     "look at `nvidia-smi` and CUDA_VISIBLE_DEVICES, or set `launch.device: cpu`");
  }
  if (on_gpus && !machine.cuda_built) {
    throw InfraError("`launch.device` is cuda, but this build has no libtrainctl_cuda.so",
                     "run `scripts/setup.sh --cuda` and build again, or set `launch.device: cpu`");
  }
  if (!launch.nproc_per_node) launch.nproc_per_node = on_gpus ? machine.num_gpus : machine.num_cores;
  if (on_gpus && *launch.nproc_per_node > machine.num_gpus) {
    throw UserError(
        "`launch.nproc_per_node` is " + std::to_string(*launch.nproc_per_node) + ", but there are " +
            std::to_string(machine.num_gpus) + " GPUs here",
        "a GPU serves one process; use at most " + std::to_string(machine.num_gpus) + ", or auto");
  }
  if (!launch.threads) launch.threads = std::max<int64_t>(1, machine.num_cores / *launch.nproc_per_node);
}

}  // namespace trainctl::launch
