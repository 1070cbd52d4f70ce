// Any bytes as a safetensors file: refused with a UserError, or a header whose every tensor lies within the
// bytes. Mutations rarely keep the length before the header right, so each input is tried as it is and with a
// length that reaches to its last brace.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "storage/safetensors.h"
#include "util/diagnostic.h"

namespace {

void check(std::span<const std::byte> content) {
  try {
    const auto header = trainctl::storage::parse_safetensors(content, "fuzz");
    size_t end = header.data_begin;
    for (size_t k = 0; k < header.tensors.size(); ++k) {
      if (header.data_begin + header.begin[k] != end) std::abort();
      end += static_cast<size_t>(header.tensors[k].size_bytes());
    }
    if (end != content.size()) std::abort();
  } catch (const trainctl::UserError&) {  // what a damaged file should get
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly this size, so that AddressSanitizer sees a read beyond it.
  std::vector<std::byte> content(size);
  if (size > 0) std::memcpy(content.data(), data, size);
  check(content);
  if (size < 8) return 0;
  const auto brace = std::find(content.rbegin(), content.rend() - 8, std::byte{'}'});
  const uint64_t length = static_cast<uint64_t>(content.rend() - 8 - brace);
  std::memcpy(content.data(), &length, sizeof length);
  check(content);
  return 0;
}
