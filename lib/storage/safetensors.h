// safetensors.h: Hugging Face's file of named tensors, read (mapped, not copied) and written.  Bytes only:
// what a tensor is good for is decided in model/.  FORMAT.md describes the layout and what the reader does
// with odd files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/dtype.h"

namespace trainctl::storage {

using Metadata = std::map<std::string, std::string>;

struct TensorInfo {
  std::string name;
  Dtype dtype;
  std::vector<int64_t> shape;
  int64_t size_bytes() const;
};

/// A tensor in a mapped file; valid as long as the SafetensorsFile.  The bytes are little-endian, row-major,
/// and aligned as the file has them (a file of ours: to the element; others may be odd).
struct StoredTensor : TensorInfo {
  std::span<const std::byte> bytes;
};

/// What stands before the data: 8 bytes of length, then JSON.  `data_begin` counts from the start of the
/// file.
struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their data
  std::vector<size_t> begin;        // of each, counted from data_begin
  Metadata metadata;
  size_t data_begin = 0;
};

/// Reads and checks the header of a whole file in memory: lengths, offsets (no overlap, no hole, no byte left
/// over), dtype times shape against size, duplicate names, depth, UTF-8.  `file` is for messages. Throws
/// UserError with the file and what is wrong at which byte.
SafetensorsHeader parse_safetensors(std::span<const std::byte> content, const std::string& file);

/// One file, mapped read-only.
class SafetensorsFile {
 public:
  /// Throws UserError where the file is absent or not well-formed, InfraError where it cannot be mapped.
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  /// nullptr where there is none of that name.
  const StoredTensor* find(std::string_view name) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> mapped_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string_view, size_t> by_name_;
  Metadata metadata_;
};

/// One file, or the shards that a model.safetensors.index.json names.
class SafetensorsSet {
 public:
  /// `path`: a .safetensors file, an index (.json), or a folder that holds model.safetensors or its index.
  /// Throws UserError where the index names a shard or tensor that is not there, or one is in two shards.
  explicit SafetensorsSet(const std::filesystem::path& path);
  const std::vector<const StoredTensor*>& tensors() const { return tensors_; }
  /// Of all shards together.
  const Metadata& metadata() const { return metadata_; }

 private:
  void add(const std::filesystem::path& file);
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::vector<const StoredTensor*> tensors_;
  Metadata metadata_;
};

/// Writes a new file beside `path` and renames it over `path` when all is on disk: a file that someone has
/// mapped is never changed in place, and a crash leaves the old one.  Tensors are given one after the other,
/// so that no second copy of all is needed.
class SafetensorsWriter {
 public:
  SafetensorsWriter(std::filesystem::path path, std::vector<TensorInfo> tensors, const Metadata& metadata);
  /// Without commit(): the new file is removed, the old one stays.
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// The data of the next tensor of `order()`.  Throws InfraError (disk full).
  void append(std::span<const std::byte> bytes);
  /// Indices into `tensors` in the order of the file: widest elements first, so that all are aligned.
  const std::vector<size_t>& order() const { return order_; }
  /// fsync, rename, fsync of the folder.
  void commit();

 private:
  void write_all(const void* data, size_t size);
  std::filesystem::path path_, temporary_;
  std::vector<TensorInfo> tensors_;
  std::vector<size_t> order_;
  size_t next_ = 0;
  int fd_ = -1;
};

}  // namespace trainctl::storage
