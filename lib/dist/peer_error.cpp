#include "dist/peer_error.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <gloo/common/error.h>

#include "util/diagnostic.h"

namespace trainctl::dist {

std::string first_line(const std::exception& error) {
  std::string_view text = error.what();
  text = text.substr(0, text.find('\n'));
  // gloo begins with its own source file and line.
  if (const auto end = text.find("] "); text.starts_with("[/") && end != text.npos)
    text.remove_prefix(end + 2);
  return std::string(text);
}

bool is_peer_error(const std::exception& error) {
  if (dynamic_cast<const c10::DistError*>(&error) != nullptr) return true;     // store, network, NCCL
  if (dynamic_cast<const ::gloo::Exception*>(&error) != nullptr) return true;  // a connection of gloo's
  // c10d's own waiting throws a plain c10::Error.
  return dynamic_cast<const c10::Error*>(&error) != nullptr &&
         first_line(error).starts_with("Operation timed out");
}

void with_peers(int rank, std::string_view what, const std::function<void()>& work) {
  try {
    work();
  } catch (const InfraError&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_peer_error(error)) throw;
    throw InfraError(fmt::format("rank {}: {} failed: {}", rank, what, first_line(error)),
                     "a peer died or hangs; the rank that failed first says why in its log");
  }
}

}  // namespace trainctl::dist
