#include "device/cuda_half.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "device/cuda_driver.h"
#include "util/diagnostic.h"

namespace trainctl::device {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNotBuilt = TRAINCTL_CUDA_NOT_BUILT;
constexpr const char* kLibrary = "libtrainctl_cuda.so";

// Beside the library or program that holds this function: libtrainctl_engine.so in lib/, a test in tests/.
fs::path find_library() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&find_library), &self) == 0) return kLibrary;
  const fs::path here = fs::canonical(self.dli_fname).parent_path();
  const fs::path beside = here / kLibrary;
  return fs::exists(beside) ? beside : here.parent_path() / "lib" / kLibrary;
}

}  // namespace

std::unique_ptr<Backend> load_cuda_backend(int local_rank) {
  const CudaDriver driver = ask_cuda_driver();
  if (driver.num_devices == 0) {
    throw InfraError("cannot run on CUDA: " + driver.problem,
                     "use a machine with an NVIDIA GPU, or `launch.device: cpu`");
  }
  if (local_rank >= driver.num_devices) {
    throw InfraError(fmt::format("local rank {} needs a CUDA device of its own, and this machine offers {}",
                                 local_rank, driver.num_devices),
                     fmt::format("lower `launch.nproc_per_node` to {}", driver.num_devices));
  }
  if (!kNotBuilt.empty()) {
    throw InfraError(fmt::format("cannot run on CUDA: this build has no {}: {}", kLibrary, kNotBuilt),
                     "run scripts/setup.sh --cuda and build again");
  }
  const fs::path path = find_library();
  if (!fs::exists(path)) {
    throw InfraError(fmt::format("cannot run on CUDA: {} is missing", path.string()),
                     "build or install it again");
  }
  // RTLD_GLOBAL: libtorch_cuda registers itself with the LibTorch that is already loaded.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw InfraError(fmt::format("cannot load {}: {}", path.string(), dlerror()),
                     "run scripts/setup.sh --cuda, which installs the libraries of NVIDIA that it needs");
  }
  const auto entry = reinterpret_cast<TrainctlCudaBackend>(dlsym(library, "trainctl_cuda_backend"));
  if (entry == nullptr) throw InfraError(path.string() + " has no trainctl_cuda_backend; build it again");
  return std::unique_ptr<Backend>(static_cast<Backend*>(entry(local_rank)));
}

}  // namespace trainctl::device
