// Files of tensors: written, mapped, in shards.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <numeric>

#include "storage/safetensors.h"
#include "support/temp_dir.h"
#include "util/diagnostic.h"

using namespace trainctl;
using storage::Dtype;
namespace fs = std::filesystem;

namespace {

struct Folder {
  test::TempDir dir;
  const fs::path& path = dir.path();
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

void write_one(const fs::path& path, const std::string& name, const std::vector<float>& values) {
  storage::SafetensorsWriter writer(path, {{name, Dtype::kF32, {static_cast<int64_t>(values.size())}}}, {});
  writer.append(bytes(values));
  writer.commit();
}

std::string refusal(const fs::path& path) {
  try {
    storage::SafetensorsSet set(path);
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("what was written is read back and every tensor is aligned") {
  const Folder folder;
  const std::vector<uint8_t> odd = {1, 2, 3};
  const std::vector<float> matrix = {0.5f, -1, 2, 3, 4, 5};
  const std::vector<int64_t> count = {1234567890123};
  storage::SafetensorsWriter writer(folder.path / "a.safetensors",
                                    {{"odd", Dtype::kU8, {3}},
                                     {"matrix", Dtype::kF32, {2, 3}},
                                     {"count", Dtype::kI64, {}},
                                     {"none", Dtype::kF32, {0, 7}}},
                                    {{"format", "pt"}, {"quote", "a \"b\"\n"}});
  CHECK(writer.order() == std::vector<size_t>{2, 1, 3, 0});
  writer.append(bytes(count));
  writer.append(bytes(matrix));
  writer.append({});
  writer.append(bytes(odd));
  writer.commit();
  CHECK(folder.files() == 1);

  const storage::SafetensorsFile file(folder.path / "a.safetensors");
  CHECK(file.metadata() == storage::Metadata{{"format", "pt"}, {"quote", "a \"b\"\n"}});
  REQUIRE(file.tensors().size() == 4);
  REQUIRE(file.find("matrix") != nullptr);
  CHECK(file.find("matrix")->shape == std::vector<int64_t>{2, 3});
  CHECK(std::memcmp(file.find("matrix")->bytes.data(), matrix.data(), 24) == 0);
  CHECK(std::memcmp(file.find("count")->bytes.data(), count.data(), 8) == 0);
  CHECK(file.find("none")->bytes.empty());
  CHECK(file.find("matrices") == nullptr);
  for (const auto& tensor : file.tensors())
    CHECK(reinterpret_cast<uintptr_t>(tensor.bytes.data()) %
              static_cast<uintptr_t>(storage::size_of(tensor.dtype)) ==
          0);
}

TEST_CASE("rewriting a mapped file leaves the mapping as it was") {
  const Folder folder;
  const fs::path path = folder.path / "a.safetensors";
  write_one(path, "x", {1, 2, 3});
  const storage::SafetensorsFile old(path);
  write_one(path, "x", {7, 8, 9});
  float first = 0;
  std::memcpy(&first, old.find("x")->bytes.data(), sizeof first);
  CHECK(first == 1);
  std::memcpy(&first, storage::SafetensorsFile(path).find("x")->bytes.data(), sizeof first);
  CHECK(first == 7);
}

TEST_CASE("a write that is not finished leaves the old file and no new one") {
  const Folder folder;
  const fs::path path = folder.path / "a.safetensors";
  write_one(path, "x", {1, 2, 3});
  {
    storage::SafetensorsWriter writer(path, {{"y", Dtype::kF32, {3}}, {"z", Dtype::kF32, {1}}}, {});
    writer.append(bytes(std::vector<float>{4, 5, 6}));
    CHECK_THROWS_AS(writer.append(bytes(std::vector<float>{4, 5, 6})), std::logic_error);
    CHECK_THROWS_AS(writer.commit(), std::logic_error);
  }
  CHECK(folder.files() == 1);
  CHECK(storage::SafetensorsFile(path).find("x") != nullptr);
}

TEST_CASE("a folder that is not there is the surroundings' fault") {
  CHECK_THROWS_AS(storage::SafetensorsWriter("/nonexistent/a.safetensors", {}, {}), InfraError);
  CHECK_THAT(refusal("/nonexistent/a.safetensors"), Contains("/nonexistent/a.safetensors"));
}

TEST_CASE("an index and its shards read as one and a folder finds either") {
  const Folder folder;
  write_one(folder.path / "m-1.safetensors", "a", {1});
  write_one(folder.path / "m-2.safetensors", "b", {2});
  const fs::path index = folder.path / "model.safetensors.index.json";
  std::ofstream(index) << R"({"metadata":{},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})";
  CHECK(storage::SafetensorsSet(index).tensors().size() == 2);
  CHECK(storage::SafetensorsSet(folder.path).tensors().size() == 2);
  write_one(folder.path / "model.safetensors", "c", {3});
  CHECK(storage::SafetensorsSet(folder.path).tensors().size() == 1);
}

TEST_CASE("an index that its shards do not bear out is refused") {
  const Folder folder;
  write_one(folder.path / "m-1.safetensors", "a", {1});
  const fs::path index = folder.path / "i.json";
  const auto says = [&](const std::string& map) {
    std::ofstream(index) << R"({"weight_map":)" << map << "}";
    return refusal(index);
  };
  CHECK(says(R"({"a":"m-1.safetensors"})") == "accepted");
  CHECK_THAT(says(R"({"a":"m-1.safetensors","b":"m-1.safetensors"})"),
             Contains("`b` is not in m-1.safetensors"));
  CHECK_THAT(says(R"({"a":"m-2.safetensors"})"), Contains("the shard m-2.safetensors is not beside it"));
  CHECK_THAT(says(R"({"a":"../m-1.safetensors"})"), Contains("is not the name of a file beside the index"));
  CHECK_THAT(says(R"({"b":"m-1.safetensors"})"), Contains("holds `a`, which the index lacks"));
  CHECK_THAT(says("[]"), Contains("is not an index of weights"));
  CHECK_THAT(refusal(fs::temp_directory_path() / "nothing-here.json"), Contains("there is no such file"));
}
