#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "storage/safetensors.h"
#include "util/diagnostic.h"

namespace trainctl::storage {
namespace {

/// The whole file, read-only.  An empty file is an empty span (nothing can be mapped).
std::span<const std::byte> map_file(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    throw UserError(Diagnostic{.at = {.file = path.string()},
                               .what = fmt::format("cannot be opened: {}", std::strerror(errno)),
                               .help = "check the path and its permissions"});
  struct stat status = {};
  fstat(fd, &status);
  if (!S_ISREG(status.st_mode)) {
    close(fd);
    throw UserError(Diagnostic{
        .at = {.file = path.string()}, .what = "is not a regular file", .help = "name a .safetensors file"});
  }
  const size_t size = static_cast<size_t>(status.st_size);
  void* const address = size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  const int error = errno;
  close(fd);
  if (address == MAP_FAILED)
    throw InfraError(fmt::format("{}: cannot be mapped: {}", path.string(), std::strerror(error)));
  return {static_cast<const std::byte*>(address), size};
}

void unmap(std::span<const std::byte> mapped) {
  if (!mapped.empty()) munmap(const_cast<std::byte*>(mapped.data()), mapped.size());
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path), mapped_(map_file(path)) {
  SafetensorsHeader header;
  try {
    header = parse_safetensors(mapped_, path.string());
  } catch (...) {
    unmap(mapped_);
    throw;
  }
  metadata_ = std::move(header.metadata);
  tensors_.reserve(header.tensors.size());
  for (size_t k = 0; k < header.tensors.size(); ++k) {
    const size_t size = static_cast<size_t>(header.tensors[k].size_bytes());
    tensors_.push_back(
        {{std::move(header.tensors[k])}, mapped_.subspan(header.data_begin + header.begin[k], size)});
  }
  for (size_t k = 0; k < tensors_.size(); ++k) by_name_[tensors_[k].name] = k;
}

SafetensorsFile::~SafetensorsFile() { unmap(mapped_); }

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace trainctl::storage
