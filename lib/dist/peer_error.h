// peer_error.h: tells failed communication (a peer died, hangs or left) from every other exception.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

namespace trainctl::dist {

/// Is `error` one that c10d, gloo or NCCL throws when a peer or the store does not answer?
bool is_peer_error(const std::exception& error);

/// Runs `work`; what is_peer_error becomes an InfraError "rank 1: <what> failed: <first line>".  Everything
/// else passes through.
void with_peers(int rank, std::string_view what, const std::function<void()>& work);

/// An error's text up to its first line's end, without gloo's "[file:line] ": LibTorch appends a stack.
std::string first_line(const std::exception& error);

}  // namespace trainctl::dist
