// image_files.cpp: readers of files that hold labelled images.
#include <fmt/format.h>

#include "data/open_file.h"
#include "data/source.h"

namespace trainctl::data {

namespace {

constexpr uint64_t kCifarRow = 1 + 3 * 32 * 32;

/// An IDX file of unsigned bytes: magic 00 00 08 <number of dims>, each dim as big-endian uint32, then the
/// values.
struct IdxFile {
  std::shared_ptr<const MappedFile> file;
  std::vector<int64_t> dims;
  uint64_t header = 0;
};

std::optional<IdxFile> open_idx_file(const DataFile& data_file, std::vector<Diagnostic>& found) {
  IdxFile idx{.file = open_mapped(data_file.path, found)};
  if (idx.file == nullptr) return std::nullopt;
  const auto fail = [&](std::string what, std::string help) {
    found.push_back({.at = {.file = data_file.path}, .what = std::move(what), .help = std::move(help)});
    return std::nullopt;
  };
  const uint64_t size = idx.file->size();
  const uint32_t magic = size >= 4 ? load_be32(*idx.file, 0) : 0;
  const uint32_t rank = magic & 0xFFU;
  if (magic >> 8U != 0x08U || rank < 1 || rank > 4) {
    return fail(
        fmt::format("is no IDX file of bytes: it starts with {:#010x}, expected 0x000008 and 1 to 4 dims",
                    magic),
        "unpack .gz files first");
  }
  idx.header = 4 + 4 * uint64_t{rank};
  if (size < idx.header)
    return fail(fmt::format("is {} bytes, shorter than its header of {}", size, idx.header), "");
  uint64_t numel = 1;
  bool too_large = false;
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t dim = load_be32(*idx.file, 4 + 4 * uint64_t{d});
    idx.dims.push_back(dim);
    too_large = too_large || __builtin_mul_overflow(numel, uint64_t{dim}, &numel);
  }
  if (too_large || size != idx.header + numel) {
    return fail(
        fmt::format("is {} bytes, but its header says {} values: expected {} bytes", size,
                    fmt::join(idx.dims, " x "), too_large ? "too many" : fmt::to_string(idx.header + numel)),
        "copy the file again");
  }
  return idx;
}

}  // namespace

std::optional<ImageShard> open_cifar10(const DataFile& file, std::vector<Diagnostic>& found) {
  const auto mapped = open_mapped(file.path, found);
  if (mapped == nullptr) return std::nullopt;
  const uint64_t rows = mapped->size() / kCifarRow;
  if (mapped->size() % kCifarRow != 0) {
    found.push_back({.at = {.file = file.path},
                     .what = fmt::format(
                         "is {} bytes, not a multiple of the {} bytes of a CIFAR-10 row (expected {} or {}); "
                         "the last whole image is number {}",
                         mapped->size(), kCifarRow, rows * kCifarRow, (rows + 1) * kCifarRow,
                         static_cast<int64_t>(rows) - 1),
                     .help = "use the binary version, unpacked: data_batch_1.bin ..."});
    return std::nullopt;
  }
  ImageShard shard{.path = file.path, .label_path = file.path, .pixel_owner = mapped, .label_owner = mapped};
  shard.pixels = mapped->data() + 1;
  shard.labels = mapped->data();
  shard.pixel_stride = shard.label_stride = static_cast<int64_t>(kCifarRow);
  shard.pixel_offset = 1;
  shard.count = static_cast<int64_t>(rows);
  shard.dims = {3, 32, 32};
  return shard;
}

std::vector<ImageShard> open_idx(const std::vector<DataFile>& files, std::vector<Diagnostic>& found) {
  std::vector<IdxFile> images;
  std::vector<IdxFile> labels;
  const size_t before = found.size();
  for (const auto& file : files) {
    if (auto idx = open_idx_file(file, found))
      (idx->dims.size() == 1 ? labels : images).push_back(std::move(*idx));
  }
  if (found.size() > before) return {};
  if (images.size() != labels.size()) {
    found.push_back(
        {.what = fmt::format("the IDX files are {} of images and {} of labels; each image file needs one",
                             images.size(), labels.size()),
         .help = "name both files of each pair; they are paired in sorted order"});
    return {};
  }
  std::vector<ImageShard> shards;
  for (size_t i = 0; i < images.size(); ++i) {
    const IdxFile& image = images[i];
    const IdxFile& label = labels[i];
    if (image.dims[0] != label.dims[0]) {
      found.push_back({.at = {.file = image.file->path()},
                       .what = fmt::format("holds {} images, but {} holds {} labels", image.dims[0],
                                           label.file->path(), label.dims[0]),
                       .help = "files are paired in sorted order; check their names"});
      continue;
    }
    ImageShard shard{.path = image.file->path(),
                     .label_path = label.file->path(),
                     .pixel_owner = image.file,
                     .label_owner = label.file,
                     .pixels = image.file->data() + image.header,
                     .labels = label.file->data() + label.header,
                     .pixel_stride = 1,
                     .label_stride = 1,
                     .pixel_offset = image.header,
                     .label_offset = label.header,
                     .count = image.dims[0]};
    shard.dims.assign(image.dims.begin() + 1, image.dims.end());
    while (shard.dims.size() < 3) shard.dims.insert(shard.dims.begin(), 1);
    for (const int64_t dim : shard.dims) shard.pixel_stride *= dim;
    shards.push_back(std::move(shard));
  }
  return shards;
}

}  // namespace trainctl::data
