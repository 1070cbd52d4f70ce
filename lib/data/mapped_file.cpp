#include "data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "util/diagnostic.h"

namespace trainctl::data {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw InfraError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  struct stat info {};
  const int failed = fstat(fd, &info);
  void* memory = MAP_FAILED;
  if (failed == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    size_ = static_cast<uint64_t>(info.st_size);
    memory = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
  }
  const int code = errno;
  close(fd);
  if (failed == 0 && !S_ISREG(info.st_mode)) throw UserError(path + " is no regular file", "");
  if (failed != 0 || (size_ > 0 && memory == MAP_FAILED)) {
    throw InfraError(fmt::format("cannot map {} ({} bytes): {}", path, size_, std::strerror(code)));
  }
  if (size_ > 0) data_ = static_cast<const std::byte*>(memory);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace trainctl::data
