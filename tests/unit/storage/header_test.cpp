// The header of a safetensors file, well-formed and not.
#include <catch2/catch.hpp>
#include <cstring>

#include "storage/safetensors.h"
#include "util/diagnostic.h"

using namespace trainctl;
using storage::Dtype;

namespace {

/// A whole file: length, header, `data_size` bytes.
std::vector<std::byte> file_of(const std::string& header, size_t data_size) {
  const uint64_t length = header.size();
  std::vector<std::byte> content(8 + header.size() + data_size);
  std::memcpy(content.data(), &length, 8);
  std::memcpy(content.data() + 8, header.data(), header.size());
  return content;
}

/// What the reader says about a file.
std::string refusal(const std::vector<std::byte>& content) {
  try {
    storage::parse_safetensors(content, "x.safetensors");
  } catch (const UserError& e) {
    REQUIRE(e.diagnostics().size() == 1);
    CHECK(e.diagnostics()[0].at.file == "x.safetensors");
    return e.diagnostics()[0].what;
  }
  return "accepted";
}

std::string refusal(const std::string& header, size_t data_size) {
  return refusal(file_of(header, data_size));
}

std::vector<std::byte> with_length(uint64_t length, size_t size) {
  std::vector<std::byte> content(size);
  std::memcpy(content.data(), &length, std::min(size, sizeof length));
  return content;
}

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

}  // namespace

TEST_CASE("a header gives names and dtypes and shapes and places in the order of the data") {
  const auto content = file_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[2,26]},)"
      R"("a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},"e":{"dtype":"I64","shape":[0,4],"data_offsets":[26,26]}}  )",
      26);
  const auto header = storage::parse_safetensors(content, "x");
  REQUIRE(header.tensors.size() == 3);
  CHECK(header.tensors[0].name == "a");
  CHECK(header.tensors[0].dtype == Dtype::kBF16);
  CHECK(header.tensors[0].shape.empty());
  CHECK(header.tensors[1].name == "b");
  CHECK(header.tensors[1].shape == std::vector<int64_t>{2, 3});
  CHECK(header.tensors[2].size_bytes() == 0);
  CHECK(header.begin == std::vector<size_t>{0, 2, 26});
  CHECK(header.data_begin == content.size() - 26);
  CHECK(header.metadata == storage::Metadata{{"format", "pt"}});
}

TEST_CASE("an empty object is a file without tensors") {
  CHECK(storage::parse_safetensors(file_of("{}", 0), "x").tensors.empty());
}

TEST_CASE("lengths that cannot be are refused before anything is read") {
  CHECK_THAT(refusal(with_length(0, 0)), Contains("0 bytes is too short"));
  CHECK_THAT(refusal(with_length(0, 7)), Contains("7 bytes is too short"));
  CHECK_THAT(refusal(with_length(1, 8)), Equals("byte 0: a header of 1 bytes in a file of 8"));
  CHECK_THAT(refusal(with_length(uint64_t{1} << 63, 100)),
             Contains("byte 0: a header of 9223372036854775808 bytes"));
  CHECK_THAT(refusal(with_length(UINT64_MAX, 100)),
             Contains("byte 0: a header of 18446744073709551615 bytes"));
  CHECK_THAT(refusal(with_length(0, 8)), Equals("byte 8: the header is not JSON in UTF-8"));
}

TEST_CASE("offsets that overlap or leave a hole or pass the end are refused") {
  const auto two = [](int a, int b, int c, int d) {
    return R"({"a":{"dtype":"U8","shape":[)" + std::to_string(b - a) + R"(],"data_offsets":[)" +
           std::to_string(a) + "," + std::to_string(b) + R"(]},"b":{"dtype":"U8","shape":[)" +
           std::to_string(d - c) + R"(],"data_offsets":[)" + std::to_string(c) + "," + std::to_string(d) +
           "]}}";
  };
  CHECK(refusal(two(0, 4, 4, 8), 8) == "accepted");
  CHECK_THAT(refusal(two(0, 4, 3, 7), 7),
             Equals("tensor `b` begins at byte 3 of the data, the one before it ends at 4"));
  CHECK_THAT(refusal(two(0, 4, 5, 8), 8),
             Equals("tensor `b` begins at byte 5 of the data, the one before it ends at 4"));
  CHECK_THAT(refusal(two(1, 4, 4, 8), 8),
             Equals("tensor `a` begins at byte 1 of the data, the one before it ends at 0"));
  CHECK_THAT(refusal(two(0, 4, 4, 9), 8), Equals("tensor `b`: bytes 4 to 9 of 8 bytes of data"));
  CHECK_THAT(refusal(two(0, 4, 4, 8), 11), Contains("3 bytes after the last tensor"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[4,0]}})", 4),
             Contains("bytes 4 to 0 of 4"));
  CHECK_THAT(
      refusal(
          R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[18446744073709551615,18446744073709551615]}})",
          4),
      Contains("bytes 18446744073709551615 to"));
}

TEST_CASE("a size that is not dtype times shape is refused also where the product overflows") {
  CHECK_THAT(refusal(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
             Equals("tensor `a`: F32 of shape [2] takes 8 bytes, its offsets hold 4"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
             Contains("takes more than 2^63 bytes"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,0]}})", 0),
             Contains("an extent of 9223372036854775808"));
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[4294967296,0,4294967296],"data_offsets":[0,0]}})", 0) ==
        "accepted");
}

TEST_CASE("JSON that is not this format is refused") {
  CHECK_THAT(refusal("[]", 0), Contains("not a JSON object"));
  CHECK_THAT(refusal("{\"a\": ", 0), Contains("not JSON"));
  CHECK_THAT(refusal("{\"\xff\": {}}", 0), Contains("not JSON in UTF-8"));
  CHECK_THAT(refusal(R"({"a":1})", 0), Equals("tensor `a` is not an object"));
  CHECK_THAT(refusal(R"({"a":{"shape":[],"data_offsets":[0,0]}})", 0), Equals("tensor `a` has no `dtype`"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"F33","shape":[],"data_offsets":[0,0]}})", 0),
             Contains("dtype `F33` is not one of BOOL, U8"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}})", 0),
             Contains("not a whole number"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,0]}})", 0),
             Contains("not a whole number"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})", 0),
             Contains("not a list of two"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})", 0),
             Contains("unknown key `x`"));
  CHECK_THAT(refusal(R"({"__metadata__":{"a":1}})", 0), Contains("`__metadata__.a` is not a string"));
}

TEST_CASE("a name that stands twice is refused") {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK_THAT(refusal("{" + a + "," + a + "}", 0), Equals("`a` stands twice in the header"));
  CHECK_THAT(refusal(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0),
             Contains("`dtype` stands twice"));
}

TEST_CASE("deep JSON is refused without recursion") {
  const std::string deep(1000000, '[');
  CHECK_THAT(refusal("{\"a\":" + deep, 0), Contains("nested more than"));
}
