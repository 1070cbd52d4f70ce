// source.h: the files of a job, opened and checked against their headers and sizes, not yet cut into samples.
//
//   format      files                                             layout (FORMAT.md has the details)
//   text        any; joined in sorted order into one stream       bytes, through the tokenizer
//   tokens_u16  each file a stream                                raw little-endian uint16
//   tokens_u32  each file a stream                                raw little-endian uint32
//   llmc        each file a stream                                llm.c's header of 256 int32, then uint16 or
//   uint32 megatron    each .bin/.idx pair a stream                      documents one after the other, dtype
//   from the index cifar10     each file a shard                                 rows of 1 label byte and
//   3072 pixels idx         pairs of an image and a label file                big-endian header, bytes
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/file_list.h"
#include "data/image_shard.h"
#include "data/token_stream.h"
#include "spec/job_spec.h"
#include "util/diagnostic.h"

namespace trainctl::data {

struct Source {
  std::vector<DataFile> files;       // sorted; of megatron the .bin files
  std::vector<TokenStream> streams;  // of the token formats
  std::vector<ImageShard> images;    // of the image formats
  int64_t num_skipped = 0;           // empty or too small files
};

/// Opens what `patterns` (the key `key`: `data.train` or `data.eval`) name.  What is wrong goes into `found`,
/// all of it; a file with an error, and (with a warning) an empty one, is left out.  Text that needs a
/// tokenizer is tokenised here, or read from the cache (token_cache.h), unless `tokenize` is false: then
/// there is no stream.
Source open_source(const spec::JobSpec& job, const std::vector<std::string>& patterns, const std::string& key,
                   bool tokenize, std::vector<Diagnostic>& found);

// One reader a format.  nullopt: left out, the reason is in `found`.
std::optional<TokenSegment> open_raw(const DataFile& file, int width, std::vector<Diagnostic>& found);
std::optional<TokenSegment> open_llmc(const DataFile& file, std::vector<Diagnostic>& found);
std::optional<TokenSegment> open_megatron(const DataFile& bin, std::vector<Diagnostic>& found);
std::optional<ImageShard> open_cifar10(const DataFile& file, std::vector<Diagnostic>& found);
std::vector<ImageShard> open_idx(const std::vector<DataFile>& files, std::vector<Diagnostic>& found);

/// Checks that the documents of a .bin/.idx pair lie one after the other, as the index says.  Reads all of
/// the index.
void check_megatron_index(const std::string& bin_path, std::vector<Diagnostic>& found);

}  // namespace trainctl::data
