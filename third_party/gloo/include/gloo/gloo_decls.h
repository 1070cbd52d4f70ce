// gloo_decls.h: the few gloo types that c10d's ProcessGroupGloo.hpp names.
//
// The PyTorch wheel exports gloo's symbols from libtorch_cpu.so and ships none of its headers.  These
// declarations are enough to use ProcessGroupGloo by pointer: every member whose layout matters is a
// torch type or a smart pointer.  lib/device/gloo_layout.cpp asserts the size that this assumes, and
// tests/unit/dist runs a collective through it.  Do not derive from or instantiate gloo classes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gloo {

// What a collective throws when a connection breaks (IoException) or times out.
struct Exception : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

const std::chrono::milliseconds kNoTimeout = std::chrono::milliseconds::zero();

namespace transport {
class Device;  // only held through a shared_ptr made by libtorch_cpu
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};
}  // namespace transport

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace rendezvous {
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string&, const std::vector<char>&) = 0;
  virtual std::vector<char> get(const std::string&) = 0;
  virtual void wait(const std::vector<std::string>&) = 0;
  virtual void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) = 0;
};
}  // namespace rendezvous

}  // namespace gloo
