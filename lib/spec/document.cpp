// The only file that sees yaml-cpp.  Its node API keeps duplicate keys, loses key positions and reads `010`
// as 8, so the tree is built from the parser's events.  yaml-cpp's lines and columns count from 0, columns in
// bytes.
#include "spec/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "spec/utf8.h"

namespace trainctl::spec {

namespace {

constexpr size_t kLongestShownLine = 300;

struct Explained {
  std::string_view yaml_cpp, what, help;
  bool at_bracket = false;  // the mistake is the open bracket, not where the parser gave up
};
// yaml-cpp's words, and ours where they help more.
constexpr Explained kSyntax[] = {
    {"end of sequence flow not found", "a list `[...]` is not closed",
     "close it with `]`; quote items that hold braces or commas", true},
    {"end of map flow not found", "a map `{...}` is not closed",
     "close it with `}`; quote values that hold braces or commas", true},
    {"end of map not found", "this is not a `key: value` line of the map above it",
     "check the indentation, and text after a closing quote"},
    {"end of sequence not found", "this is not an item of the list above it", "check the indentation"},
    {"illegal map value", "a second `: ` in one value",
     "put the value in quotes, or the inner key on a line of its own"},
    {"illegal tab when looking for indentation", "a tab indents this line", "indent with spaces"},
    {"illegal block entry", "a list item is not allowed here", "put the list on the lines below its key"},
};

}  // namespace

/// Turns events into nodes.  `stack_` holds the open maps and lists; a map's key waits until its value comes.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Document& document) : doc_(document) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 2) {
      doc_.fail(at(mark), "a second document starts here",
                "a job file is one document; remove this `---` line");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    Node node{.kind = Node::Kind::kNull, .at = at(mark), .text = {}, .items = {}, .entries = {}};
    const std::string_view rest = doc_.rest_of_text(node.at.line, node.at.column);
    const bool written = rest.starts_with('~') || rest.starts_with("null") || rest.starts_with("Null") ||
                         rest.starts_with("NULL");
    // The mark of an empty value is where the next token starts, often on another line.
    if (!written && !stack_.empty() && stack_.back().has_key) node.at = stack_.back().key.at;
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problem(at(mark), "aliases (`*name`) are not supported", "write the value out");
    add(Node{.kind = Node::Kind::kNull, .at = at(mark), .text = {}, .items = {}, .entries = {}},
        /*broken=*/true);
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    problem(at(mark), fmt::format("anchors (`&{}`) are not supported", shortened(name)),
            "remove it and write the value where it is used");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    Node node{.kind = Node::Kind::kScalar, .at = at(mark), .text = value, .items = {}, .entries = {}};
    const std::string_view rest = doc_.rest_of_text(node.at.line, node.at.column);
    node.quoted = !rest.empty() && std::string_view("\"'|>").find(rest[0]) != std::string_view::npos;
    check_tag(node.at);
    if (node.quoted && !closes(rest))
      doc_.fail(node.at, "this quote is never closed", "close it on the same line");
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark);
  }
  void OnMapEnd() override { close(); }

  /// Where the innermost list or map begins that is still open, or `otherwise`.
  SourcePos innermost(const SourcePos& otherwise) const {
    return stack_.empty() ? otherwise : stack_.back().node.at;
  }

 private:
  struct Open {
    Node node;
    bool has_key = false, broken = false;
    Entry key{};
    std::map<std::string, SourcePos, std::less<>> seen{};
  };

  SourcePos at(const YAML::Mark& mark) const { return doc_.position(mark.line + 1, mark.column + 1); }

  void problem(SourcePos where, std::string what, std::string help) {
    std::string line = doc_.line(where.line);
    doc_.problems_.push_back({std::move(where), std::move(what), std::move(help), std::move(line)});
  }

  void check_tag(const SourcePos& where) {
    if (doc_.rest_of_text(where.line, where.column).starts_with('!')) {
      problem(where, "tags (`!name`) are not supported",
              "remove it; a key's type is fixed (`trainctl schema`)");
    }
  }

  void open(Node::Kind kind, const YAML::Mark& mark) {
    if (stack_.size() >= kMaxDocumentDepth) {
      doc_.fail(at(mark), fmt::format("nested more than {} levels deep", kMaxDocumentDepth),
                "a job file needs two");
    }
    check_tag(at(mark));
    stack_.push_back({Node{.kind = kind, .at = at(mark), .text = {}, .items = {}, .entries = {}}});
  }

  void close() {
    Node node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  void add(Node node, bool broken = false) {
    if (stack_.empty()) {
      doc_.root_ = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.kind == Node::Kind::kList) {
      if (!broken) parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      parent.has_key = false;
      parent.key.value = std::move(node);
      if (!parent.broken && !broken) parent.node.entries.push_back(std::move(parent.key));
    }
  }

  void take_key(Open& parent, Node& node) {
    parent.has_key = true;
    parent.broken = true;  // until the key proves good
    parent.key = Entry{.key = node.text, .at = node.at, .value = {}};
    if (node.kind != Node::Kind::kScalar) {
      problem(node.at, "a key must be plain text", "write `key: value`");
    } else if (node.text == "<<" && !node.quoted) {
      problem(node.at, "merge keys (`<<`) are not supported", "write the keys out");
    } else if (const auto [first, fresh] = parent.seen.emplace(node.text, node.at); !fresh) {
      problem(
          node.at,
          fmt::format("key `{}` is given twice, first at line {}", shortened(node.text), first->second.line),
          fmt::format("keep one of the lines {} and {}", first->second.line, node.at.line));
    } else {
      parent.broken = false;
    }
  }

  // yaml-cpp takes the end of the file for a closing quote.
  static bool closes(std::string_view rest) {
    const char quote = rest[0];
    if (quote != '"' && quote != '\'') return true;
    for (size_t i = 1; i < rest.size(); ++i) {
      if (quote == '"' && rest[i] == '\\') {
        ++i;
      } else if (rest[i] == quote) {
        if (quote == '"' || i + 1 >= rest.size() || rest[i + 1] != quote) return true;
        ++i;
      }
    }
    return false;
  }

  Document& doc_;
  int documents_ = 0;
  std::vector<Open> stack_;
};

Document::Document(std::string_view text, std::string name) : name_(std::move(name)) {
  if (text.size() > kMaxDocumentBytes) {
    fail({.file = name_}, fmt::format("is {} bytes long, the limit is {}", text.size(), kMaxDocumentBytes),
         "a job file is a few kilobytes of text; is this the right file");
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order mark
  text_ = text;
  line_starts_ = {0};
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
  check_bytes();
}

Document Document::parse(std::string_view text, std::string name) {
  Document document(text, std::move(name));
  document.read();
  const Node& root = document.root_;
  if (root.kind == Node::Kind::kNull) {
    document.fail({.file = document.name_}, "the job file is empty", "start from configs/quickstart.yaml");
  }
  if (root.kind != Node::Kind::kMap) {
    document.fail(root.at, "a job file is a map of `key: value` lines", "see `trainctl schema` for the keys");
  }
  return document;
}

Document Document::parse_value(std::string_view text, std::string name) {
  Document document(text, std::move(name));
  document.read();
  return document;
}

void Document::read() {
  std::istringstream stream(text_);
  TreeBuilder builder(*this);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const SourcePos at = position(error.mark.line + 1, error.mark.column + 1);
    const auto* known = std::find_if(std::begin(kSyntax), std::end(kSyntax),
                                     [&](const Explained& e) { return e.yaml_cpp == error.msg; });
    if (known != std::end(kSyntax)) {
      fail(known->at_bracket ? builder.innermost(at) : at, std::string(known->what),
           std::string(known->help));
    }
    fail(at, fmt::format("not YAML: {}", error.msg), "check quotes, brackets and indentation near here");
  }
}

// yaml-cpp lets invalid UTF-8 pass, and ends the file at a byte 4.
void Document::check_bytes() const {
  for (size_t i = 0; i < text_.size();) {
    const auto byte = static_cast<unsigned char>(text_[i]);
    const size_t length = utf8_length(std::string_view(text_).substr(i));
    const bool newline_follows = i + 1 < text_.size() && text_[i + 1] == '\n';
    const bool control =
        byte == 0x7F || (byte < 0x20 && byte != '\t' && byte != '\n' && !(byte == '\r' && newline_follows));
    if (length != 0 && !control) {
      i += length;
      continue;
    }
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), i);
    const auto line = static_cast<int>(next - line_starts_.begin());
    fail(position(line, static_cast<int>(i - *(next - 1)) + 1),
         length == 0 ? fmt::format("byte {} (0x{:02x}) is not UTF-8", i, byte)
                     : fmt::format("byte {} is the control character 0x{:02x}", i, byte),
         length == 0 ? "save the file as UTF-8" : "remove it");
  }
}

void Document::fail(SourcePos at, std::string what, std::string help) const {
  std::vector<Diagnostic> all = problems_;
  std::string shown = line(at.line);
  if (!is_utf8(shown)) shown.clear();
  all.push_back({std::move(at), std::move(what), std::move(help), std::move(shown)});
  throw UserError(std::move(all));
}

std::string Document::line(int line) const {
  if (line < 1 || static_cast<size_t>(line) > line_starts_.size()) return "";
  const size_t begin = line_starts_[static_cast<size_t>(line) - 1];
  size_t end = text_.find('\n', begin);
  if (end == std::string::npos) end = text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return end - begin > kLongestShownLine ? "" : text_.substr(begin, end - begin);
}

std::string_view Document::rest_of_text(int line, int column) const {
  if (line < 1 || static_cast<size_t>(line) > line_starts_.size()) return {};
  const size_t at =
      line_starts_[static_cast<size_t>(line) - 1] + static_cast<size_t>(std::max(column, 1) - 1);
  return at < text_.size() ? std::string_view(text_).substr(at) : std::string_view{};
}

}  // namespace trainctl::spec
