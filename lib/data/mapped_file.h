// mapped_file.h: a file as read-only memory.  Pages come in as they are touched; size and offsets are 64-bit.
// A file that another program shortens while it is mapped ends the process with SIGBUS: data files are
// written once, under another name, and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace trainctl::data {

/// Move-only; safe to read from any thread.  Empty files map to a null pointer and size 0.
class MappedFile {
 public:
  /// Throws InfraError where the file cannot be opened or mapped, UserError where it is no regular file.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace trainctl::data
