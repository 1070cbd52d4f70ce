#include "engine.h"

#include <dlfcn.h>

#include <filesystem>

#include "run/engine_entry.h"
#include "util/diagnostic.h"

namespace trainctl::app {

int call_engine(const std::string& verb, const std::string& argument) {
  const auto prefix = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  const auto path = prefix / "lib" / "libtrainctl_engine.so";
  // RTLD_GLOBAL: libtrainctl_cuda.so, loaded later, must find the same LibTorch symbols.
  void* const engine = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (engine == nullptr) {
    throw InfraError(
        std::string("cannot load the engine: ") + dlerror(),
        "build it with `cmake --build --preset release`, or run scripts/setup.sh if LibTorch is gone");
  }
  auto* const entry = reinterpret_cast<TrainctlEngineMain>(dlsym(engine, "trainctl_engine_main"));
  if (entry == nullptr) throw InfraError(path.string() + " has no trainctl_engine_main; build it again");
  return entry(verb.c_str(), argument.c_str());
}

}  // namespace trainctl::app
