#include "spec/assignments.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/suggest.h"
#include "spec/utf8.h"

namespace trainctl::spec {

namespace {

bool is_section(std::string_view name) {
  const auto& all = sections();
  return std::any_of(all.begin(), all.end(), [&](const Section& s) { return s.name == name; });
}

const Field* find_field(std::string_view path, const std::vector<Field>& fields) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.path == path; });
  return found == fields.end() ? nullptr : &*found;
}

std::string first_key_of(std::string_view section, const std::vector<Field>& fields) {
  const std::string prefix = std::string(section) + ".";
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.path.starts_with(prefix); });
  return found->path;
}

class FileReader {
 public:
  FileReader(const std::vector<Field>& fields, const std::filesystem::path& base, Assignments& out,
             Problems& problems)
      : fields_(fields), base_(base), out_(out), problems_(problems) {}

  void read_root(const Node& root) {
    for (const Entry& entry : root.entries) {
      if (is_section(entry.key)) {
        read_section(entry);
      } else {
        read_key(entry, entry.key);
      }
    }
  }

 private:
  void read_section(const Entry& section) {
    if (section.value.kind != Node::Kind::kMap) {
      const bool empty = section.value.kind == Node::Kind::kNull;
      problems_.add(section.at,
                    fmt::format("section `{}` {}", section.key, empty ? "is empty" : "must be a map of keys"),
                    fmt::format("put its keys below it, such as `{}`{}", first_key_of(section.key, fields_),
                                empty ? ", or remove the line" : ""));
      return;
    }
    for (const Entry& entry : section.value.entries) read_key(entry, section.key + "." + entry.key);
  }

  void read_key(const Entry& entry, const std::string& path) {
    const bool dotted = entry.key.find('.') != std::string::npos;  // `optimizer.lr: 1` is --set's way
    if (dotted || find_field(path, fields_) == nullptr) {
      problems_.add(entry.at, fmt::format("unknown key `{}`", shortened(path)),
                    problems_.crowded() ? ""
                    : dotted ? fmt::format("write `{}` on a line of its own, and the key below it, indented",
                                           entry.key.substr(0, entry.key.find('.')) + ":")
                             : suggest_key(path, fields_));
      return;
    }
    out_[path] = {entry.value, {Origin::Kind::kFile, entry.value.at, ""}, base_};
  }

  const std::vector<Field>& fields_;
  const std::filesystem::path& base_;
  Assignments& out_;
  Problems& problems_;
};

// A shell word is one "line" of its own: it has no position inside.
void drop_positions(Node& node, const SourcePos& at) {
  node.at = at;
  for (Node& item : node.items) drop_positions(item, at);
  for (Entry& entry : node.entries) drop_positions(entry.value, at);
}

// Brackets and quotes are YAML; anything else is the value itself, so that `#` and `: ` need no care.
Node parse_set_value(std::string_view text, const SourcePos& at) {
  Node node;
  if (!text.empty() && std::string_view("[{\"'").find(text[0]) != std::string_view::npos) {
    try {
      const Document document = Document::parse_value(text, at.file);
      if (!document.problems().empty()) throw UserError(document.problems());
      node = document.root();
    } catch (const UserError& error) {
      std::vector<Diagnostic> all = error.diagnostics();
      for (Diagnostic& d : all) d = {.at = at, .what = d.what, .help = d.help, .source_line = ""};
      throw UserError(std::move(all));
    }
  } else if (!text.empty() && text != "~" && text != "null") {
    node.kind = Node::Kind::kScalar;
    node.text = text;
  }
  drop_positions(node, at);
  return node;
}

}  // namespace

void assign_document(const Document& document, const std::vector<Field>& fields,
                     const std::filesystem::path& base, Assignments& out, Problems& problems) {
  FileReader(fields, base, out, problems).read_root(document.root());
}

void assign_sets(const std::vector<std::string>& sets, const std::vector<Field>& fields, Assignments& out,
                 Problems& problems, std::vector<Diagnostic>& notes) {
  for (size_t i = 0; i < sets.size(); ++i) {
    const std::string& word = sets[i];
    const SourcePos at{.file = fmt::format("--set #{}", i + 1)};
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.add(at, fmt::format("`{}` is no `key=value`", shortened(word)),
                   "write it like `--set optimizer.lr=1e-3`");
      continue;
    }
    const std::string path = word.substr(0, equals);
    if (find_field(path, fields) == nullptr) {
      const bool section = is_section(path);
      problems.add(at,
                   section ? fmt::format("`{}` is a section, not a key", path)
                           : fmt::format("unknown key `{}`", shortened(path)),
                   section ? fmt::format("set one of its keys, such as `{}`", first_key_of(path, fields))
                   : problems.crowded() ? ""
                                        : suggest_key(path, fields));
      continue;
    }
    const auto earlier = out.find(path);
    if (earlier != out.end() && earlier->second.origin.kind == Origin::Kind::kSet) {
      notes.push_back({.at = earlier->second.origin.at,
                       .what = fmt::format("`{}` is set again by {}, which wins", path, at.file),
                       .help = "",
                       .source_line = "",
                       .severity = Severity::kNote});
    }
    try {
      out[path] = {parse_set_value(std::string_view(word).substr(equals + 1), at),
                   {Origin::Kind::kSet, at, ""},
                   std::filesystem::current_path()};
    } catch (const UserError& error) {
      problems.add(error);
    }
  }
}

}  // namespace trainctl::spec
