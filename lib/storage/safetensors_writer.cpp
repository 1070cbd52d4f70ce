#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "storage/safetensors.h"
#include "util/diagnostic.h"

namespace trainctl::storage {
namespace {

InfraError disk_error(const std::filesystem::path& path, const char* what) {
  return InfraError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)),
                    "check the free space and the permissions of the folder");
}

std::string header_text(const std::vector<TensorInfo>& tensors, const std::vector<size_t>& order,
                        const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t begin = 0;
  for (const size_t k : order) {
    const TensorInfo& t = tensors[k];
    if (header.contains(t.name)) throw std::logic_error("safetensors: two tensors named " + t.name);
    const int64_t end = begin + t.size_bytes();
    header[t.name] = {{"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data starts aligned
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, std::vector<TensorInfo> tensors,
                                     const Metadata& metadata)
    : path_(std::move(path)), tensors_(std::move(tensors)), order_(tensors_.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return size_of(tensors_[a].dtype) > size_of(tensors_[b].dtype);
  });
  const std::string text = header_text(tensors_, order_, metadata);
  temporary_ = path_.string() + fmt::format(".{}.new", getpid());
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw disk_error(temporary_, "cannot be created");
  const uint64_t length = text.size();
  try {
    write_all(&length, sizeof length);
    write_all(text.data(), text.size());
  } catch (...) {  // no destructor runs for an object that is not made
    close(fd_);
    unlink(temporary_.c_str());
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void SafetensorsWriter::write_all(const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd_, from, std::min(size, size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw disk_error(temporary_, "cannot be written");
    from += n;
    size -= static_cast<size_t>(n);
  }
}

void SafetensorsWriter::append(std::span<const std::byte> bytes) {
  if (next_ == order_.size()) throw std::logic_error("safetensors: more data than tensors");
  const TensorInfo& tensor = tensors_[order_[next_]];
  if (bytes.size() != static_cast<size_t>(tensor.size_bytes()))
    throw std::logic_error(fmt::format("safetensors: {} bytes for `{}`, which has {}", bytes.size(),
                                       tensor.name, tensor.size_bytes()));
  write_all(bytes.data(), bytes.size());
  ++next_;
}

void SafetensorsWriter::commit() {
  if (next_ != order_.size()) throw std::logic_error("safetensors: commit before the last tensor");
  if (fsync(fd_) != 0) throw disk_error(temporary_, "cannot be flushed");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw disk_error(path_, "cannot be replaced");
  close(std::exchange(fd_, -1));
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) throw disk_error(folder, "cannot be opened");
  const int flushed = fsync(folder_fd);
  close(folder_fd);
  if (flushed != 0) throw disk_error(folder, "cannot be flushed");
}

}  // namespace trainctl::storage
