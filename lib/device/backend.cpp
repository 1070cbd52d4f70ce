// backend.cpp: the CPU as a device, and the choice between it and CUDA.
#include <ATen/Parallel.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "device/cuda_driver.h"
#include "device/cuda_half.h"
#include "device/device.h"
#include "util/diagnostic.h"

namespace trainctl::device {

namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};  // Arm's cpuinfo names no model
  uname(&system);
  return system.machine;
}

/// This machine's address on the way to `host`: connecting a datagram socket sends nothing and picks the
/// interface.
std::string address_towards(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    throw InfraError(fmt::format("cannot resolve `{}`: {}", host, gai_strerror(error)));
  }
  std::string address;
  for (const addrinfo* a = found; a != nullptr && address.empty(); a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[NI_MAXHOST] = "";
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
            0) {
      address = text;
    }
    close(fd);
  }
  freeaddrinfo(found);
  if (address.empty()) throw InfraError(fmt::format("this machine has no route to `{}`", host));
  return address;
}

/// The address to serve gloo on: that of the interface by which the rendezvous store is reached.
std::string gloo_address(const c10::intrusive_ptr<c10d::Store>& store) {
  auto* const prefix = dynamic_cast<c10d::PrefixStore*>(store.get());
  const auto inner = prefix == nullptr ? store : prefix->getUnderlyingNonPrefixStore();
  const auto* const tcp = dynamic_cast<const c10d::TCPStore*>(inner.get());
  return tcp == nullptr ? "127.0.0.1" : address_towards(tcp->getHost(), tcp->getPort());
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int num_threads)
      : description_(
            fmt::format("cpu: {}, {} thread{}", cpu_model(), num_threads, num_threads == 1 ? "" : "s")) {}
  at::Device device() const override { return at::kCPU; }
  std::string description() const override { return description_; }
  void synchronize() override {}
  std::optional<double> peak_memory_mb() const override { return std::nullopt; }
  std::optional<double> spec_peak_tflops(at::ScalarType) const override { return std::nullopt; }
  c10::intrusive_ptr<c10d::Backend> make_process_group_backend(c10::intrusive_ptr<c10d::Store> store,
                                                               int rank, int world_size,
                                                               std::chrono::milliseconds timeout) override {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(gloo_address(store)));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, options);
  }
  at::Tensor pin(const at::Tensor& host) override { return host; }

 private:
  std::string description_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const std::string& kind, int local_rank, int num_threads) {
  if (at::get_num_threads() != num_threads) at::set_num_threads(num_threads);
  if (kind == "cpu") return std::make_unique<CpuBackend>(num_threads);
  if (kind == "cuda") return load_cuda_backend(local_rank);
  throw std::logic_error("make_backend: no device is called `" + kind + "`");
}

int num_cuda_devices() { return ask_cuda_driver().num_devices; }

}  // namespace trainctl::device
