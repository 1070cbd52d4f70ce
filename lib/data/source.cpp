#include "data/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "data/open_file.h"
#include "data/text_files.h"

namespace trainctl::data {

namespace {

using spec::DataFormat;

void warn_skipped(const DataFile& file, Source& source, std::vector<Diagnostic>& found) {
  ++source.num_skipped;
  found.push_back({.at = {.file = file.path}, .what = "is empty: skipped", .severity = Severity::kWarning});
}

/// Pairs stand for their .bin file, named by either or by both.
void keep_bin_files(std::vector<DataFile>& files) {
  for (auto& file : files) {
    auto path = std::filesystem::path(file.path);
    if (path.extension() == ".idx") file.path = path.replace_extension(".bin").string();
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  const auto same = [](const auto& a, const auto& b) { return a.path == b.path; };
  files.erase(std::unique(files.begin(), files.end(), same), files.end());
  for (auto& file : files) {
    std::error_code missing;  // reported when it is opened
    const auto size = std::filesystem::file_size(file.path, missing);
    if (!missing) file.size_bytes = size;
  }
}

std::optional<TokenSegment> open_tokens(DataFormat format, const DataFile& file,
                                        std::vector<Diagnostic>& found) {
  switch (format) {
    case DataFormat::kTokensU16:
      return open_raw(file, 2, found);
    case DataFormat::kTokensU32:
      return open_raw(file, 4, found);
    case DataFormat::kLlmc:
      return open_llmc(file, found);
    default:
      return open_megatron(file, found);
  }
}

}  // namespace

std::shared_ptr<const MappedFile> open_mapped(const std::string& path, std::vector<Diagnostic>& found) {
  try {
    return std::make_shared<const MappedFile>(path);
  } catch (const InfraError& error) {  // a data file that cannot be read is the job's mistake
    found.push_back({.at = {.file = path}, .what = error.what()});
  } catch (const UserError& error) {
    found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  return nullptr;
}

Source open_source(const spec::JobSpec& job, const std::vector<std::string>& patterns, const std::string& key,
                   bool tokenize, std::vector<Diagnostic>& found) {
  Source source;
  source.files = expand_files(patterns, key, found);
  const DataFormat format = job.data.format;
  if (format == DataFormat::kMegatron) keep_bin_files(source.files);
  std::vector<DataFile> filled;
  for (const auto& file : source.files) {
    if (file.size_bytes > 0) {
      filled.push_back(file);
    } else {
      warn_skipped(file, source, found);
    }
  }
  switch (format) {
    case DataFormat::kText:
      if (auto text = open_text(job.tokenizer, filled, tokenize, found))
        source.streams.push_back(std::move(*text));
      break;
    case DataFormat::kCifar10:
      for (const auto& file : filled) {
        if (auto shard = open_cifar10(file, found)) source.images.push_back(std::move(*shard));
      }
      break;
    case DataFormat::kIdx:
      source.images = open_idx(filled, found);
      break;
    case DataFormat::kSynthetic:
      break;
    default:
      for (const auto& file : filled) {
        auto segment = open_tokens(format, file, found);
        if (!segment) continue;
        if (segment->count == 0) {  // a header and nothing after it
          warn_skipped(file, source, found);
          continue;
        }
        source.streams.emplace_back().append(std::move(*segment));
      }
  }
  return source;
}

}  // namespace trainctl::data
