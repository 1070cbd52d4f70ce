#include "storage/dtype.h"

namespace trainctl::storage {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  int64_t size_bytes;
};

constexpr Row kRows[] = {
    {Dtype::kBool, "BOOL", 1},      {Dtype::kU8, "U8", 1},          {Dtype::kI8, "I8", 1},
    {Dtype::kF8E5M2, "F8_E5M2", 1}, {Dtype::kF8E4M3, "F8_E4M3", 1}, {Dtype::kU16, "U16", 2},
    {Dtype::kI16, "I16", 2},        {Dtype::kF16, "F16", 2},        {Dtype::kBF16, "BF16", 2},
    {Dtype::kU32, "U32", 4},        {Dtype::kI32, "I32", 4},        {Dtype::kF32, "F32", 4},
    {Dtype::kU64, "U64", 8},        {Dtype::kI64, "I64", 8},        {Dtype::kF64, "F64", 8},
};

const Row& row_of(Dtype dtype) {
  return kRows[static_cast<int>(dtype)];
}  // the rows stand in the enum's order

constexpr bool rows_in_order() {
  int n = 0;
  for (const Row& row : kRows)
    if (static_cast<int>(row.dtype) != n++) return false;
  return true;
}
static_assert(rows_in_order());

}  // namespace

int64_t size_of(Dtype dtype) { return row_of(dtype).size_bytes; }

std::string_view name_of(Dtype dtype) { return row_of(dtype).name; }

std::optional<Dtype> find_dtype(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::string dtype_names() {
  std::string all;
  for (const Row& row : kRows) (all += all.empty() ? "" : ", ") += row.name;
  return all;
}

}  // namespace trainctl::storage
