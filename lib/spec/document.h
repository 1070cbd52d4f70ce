// document.h: the text of a job file as a tree with positions.  Strict: one document, a map at its root, no
// duplicate keys, anchors, aliases, merge keys or tags.  What the keys mean is the reader's business
// (reader.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/diagnostic.h"

namespace trainctl::spec {

inline constexpr size_t kMaxDocumentBytes = size_t{1} << 20;
inline constexpr size_t kMaxDocumentDepth = 32;

struct Entry;

/// A value.  Positions are of its first character (of an empty value: of its key).
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  SourcePos at;
  std::string text;            // scalar
  bool quoted = false;         // scalar: in quotes or a block scalar, so never a number
  std::vector<Node> items;     // list
  std::vector<Entry> entries;  // map, in the file's order
};

struct Entry {
  std::string key;
  SourcePos at;  // of the key
  Node value;
};

class Document {
 public:
  /// Parses `text`; `name` is the file in messages.  Throws UserError where nothing can be read on (syntax,
  /// size, depth, encoding); mistakes that leave the tree whole are kept in problems().
  static Document parse(std::string_view text, std::string name);
  /// A value alone, as in `--set key=VALUE`; its root may be anything.
  static Document parse_value(std::string_view text, std::string name);

  const Node& root() const { return root_; }
  const std::vector<Diagnostic>& problems() const { return problems_; }
  /// The text of line `line` (from 1), or "" where it is missing or too long to show.
  std::string line(int line) const;

 private:
  friend class TreeBuilder;
  Document(std::string_view text, std::string name);
  void check_bytes() const;
  void read();
  [[noreturn]] void fail(SourcePos at, std::string what, std::string help) const;
  SourcePos position(int line, int column) const { return {.file = name_, .line = line, .column = column}; }
  std::string_view rest_of_text(int line, int column) const;

  std::string text_, name_;
  std::vector<size_t> line_starts_;
  Node root_;
  std::vector<Diagnostic> problems_;
};

}  // namespace trainctl::spec
