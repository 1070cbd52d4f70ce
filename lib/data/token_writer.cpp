#include "data/token_writer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "util/diagnostic.h"

namespace trainctl::data {

namespace {
constexpr size_t kBuffer = size_t{1} << 20;
}

TokenWriter::TokenWriter(std::string path, int width)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp-{}", path_, getpid())), width_(width) {
  std::error_code none;
  const auto status = std::filesystem::status(path_, none);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    temporary_.clear();
    throw UserError(fmt::format("{} exists and is no ordinary file", path_), "name a file to write");
  }
  fd_ = Fd(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd_) fail("create");
}

TokenWriter::~TokenWriter() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void TokenWriter::fail(const char* doing) const {
  throw InfraError(fmt::format("cannot {} {}: {}", doing, temporary_, std::strerror(errno)),
                   errno == ENOSPC || errno == EDQUOT ? "free some space on this disk" : "");
}

void TokenWriter::write(std::span<const uint32_t> ids) {
  for (const uint32_t id : ids) {
    if (width_ == 2 && id > 0xFFFF)
      throw std::logic_error(fmt::format("token {} does not fit into uint16", id));
    const size_t at = buffer_.size();
    buffer_.resize(at + static_cast<size_t>(width_));
    std::memcpy(buffer_.data() + at, &id, static_cast<size_t>(width_));  // little-endian
    if (buffer_.size() >= kBuffer) flush();
  }
  num_tokens_ += ids.size();
}

void TokenWriter::flush() {
  for (size_t at = 0; at < buffer_.size();) {
    const ssize_t n = ::write(fd_.get(), buffer_.data() + at, buffer_.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write");
    at += static_cast<size_t>(n);
  }
  buffer_.clear();
}

void TokenWriter::finish() {
  flush();
  if (fsync(fd_.get()) != 0) fail("sync");
  if (fd_.close() != 0) fail("write");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  temporary_.clear();
}

}  // namespace trainctl::data
