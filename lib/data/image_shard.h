// image_shard.h: labelled images of unsigned bytes as they lie in a file (CIFAR-10's binary batches) or in a
// pair of files (IDX, as of MNIST).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trainctl::data {

struct ImageShard {
  std::string path, label_path;  // for messages; equal for CIFAR-10
  std::shared_ptr<const void> pixel_owner, label_owner;
  const std::byte* pixels = nullptr;  // of image 0; image i lies i * pixel_stride bytes on
  const std::byte* labels = nullptr;  // of image 0
  int64_t pixel_stride = 0, label_stride = 0;
  uint64_t pixel_offset = 0, label_offset = 0;  // of image 0 in its file, in bytes
  int64_t count = 0;                            // images
  std::vector<int64_t> dims;                    // [C, H, W]
};

}  // namespace trainctl::data
