// Several files as one: Hugging Face's model.safetensors.index.json, {"weight_map": {tensor: file}}.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "storage/safetensors.h"
#include "util/atomic_file.h"
#include "util/diagnostic.h"

namespace trainctl::storage {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

UserError index_error(const fs::path& index, std::string what) {
  return UserError(Diagnostic{.at = {.file = index.string()},
                              .what = std::move(what),
                              .help = "fetch the index and all of its shards again, into one folder"});
}

/// Tensor to file name.
std::map<std::string, std::string> read_index(const fs::path& index) {
  const std::optional<std::string> text = read_file_if_present(index);
  if (!text)
    throw UserError(Diagnostic{
        .at = {.file = index.string()}, .what = "there is no such file", .help = "check the path"});
  const Json json = Json::parse(*text, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    throw index_error(index, "is not an index of weights: a JSON object with `weight_map`");
  std::map<std::string, std::string> map;
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string())
      throw index_error(index, fmt::format("`weight_map`: the file of `{}` is not a string", name));
    const std::string shard = file.get<std::string>();
    if (shard.empty() || fs::path(shard).filename() != shard)
      throw index_error(index,
                        fmt::format("`weight_map`: `{}` is not the name of a file beside the index", shard));
    map[name] = shard;
  }
  return map;
}

fs::path resolve_folder(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::exists(path / name)) return path / name;
  throw UserError(
      Diagnostic{.at = {.file = path.string()},
                 .what = "the folder holds neither model.safetensors nor model.safetensors.index.json",
                 .help = "name a .safetensors file or its index"});
}

}  // namespace

void SafetensorsSet::add(const fs::path& file) {
  files_.push_back(std::make_unique<SafetensorsFile>(file));
  for (const StoredTensor& tensor : files_.back()->tensors()) tensors_.push_back(&tensor);
  for (const auto& [key, text] : files_.back()->metadata()) metadata_[key] = text;
}

SafetensorsSet::SafetensorsSet(const fs::path& given) {
  const fs::path path = resolve_folder(given);
  if (path.extension() != ".json") {
    add(path);
    return;
  }

  const auto index = read_index(path);
  std::set<std::string> shards;
  for (const auto& [name, shard] : index) shards.insert(shard);
  for (const std::string& shard : shards) {
    if (!fs::exists(path.parent_path() / shard))
      throw index_error(path, fmt::format("the shard {} is not beside it", shard));
    add(path.parent_path() / shard);
    for (const StoredTensor& tensor : files_.back()->tensors()) {
      const auto entry = index.find(tensor.name);
      if (entry == index.end())
        throw index_error(path, fmt::format("{} holds `{}`, which the index lacks", shard, tensor.name));
      if (entry->second != shard)
        throw index_error(path,
                          fmt::format("`{}` is in {}, the index says {}", tensor.name, shard, entry->second));
    }
  }
  if (tensors_.size() == index.size()) return;
  std::set<std::string_view> stored;
  for (const StoredTensor* tensor : tensors_) stored.insert(tensor->name);
  for (const auto& [name, shard] : index)
    if (!stored.contains(name))
      throw index_error(path, fmt::format("`{}` is not in {}, where the index puts it", name, shard));
}

}  // namespace trainctl::storage
