// describe.h: one table of every key (describe.cpp): type, limits, meaning, when it applies.  The reader,
// `--set`, the printer and the reference all use it; nothing else knows the keys.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/job_spec.h"

namespace trainctl::spec {

/// A value of any key.  monostate is `auto`; an enumerator is its name.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                           std::vector<std::string>>;

enum class Type { kBool, kInt, kReal, kText, kChoice, kIntList, kTextList };

struct Limits {
  double low, high;
  bool low_open = false, high_open = false;  // open: the limit itself is out
  std::string_view text;                     // "greater than 0"
  bool hold(double value) const;
};
extern const Limits any, positive, non_negative, at_least_1, up_to_4096, open_share, below_1;

/// What a text stands for.  An existing path may be a file, a folder or a glob with a match.
enum class TextRole { kPlain, kName, kPath, kExistingPath, kExistingFile };

/// One key.  `get` and `set` reach the member of the JobSpec that the table was made for.
struct Field {
  std::string path;  // "optimizer.lr"
  Type type;
  bool has_auto = false;  // the member is optional: `auto` is a value
  Limits limits = any;
  TextRole role = TextRole::kPlain;
  std::vector<std::string_view> choices;
  std::string_view doc;
  std::function<Value()> get;
  std::function<void(const Value&)> set;
  /// Where the key means something; elsewhere it must not be given.  Asked once the spec is resolved.
  std::function<bool(const JobSpec&)> applies;
  std::string_view applies_text;  // "model.family: gpt2 or llama"; empty: always
};

struct Section {
  std::string_view name, doc;
};

/// The sections in the order in which they are printed; top-level keys come before them.
const std::vector<Section>& sections();

/// The value as a job file says it: `0.001`, `auto`, `"a b"`, `[1, 2]`.
std::string to_text(const Value& value);

/// Every key, bound to the members of `spec`, which must outlive the table.
std::vector<Field> fields_of(JobSpec& spec);

}  // namespace trainctl::spec
