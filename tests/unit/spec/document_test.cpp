#include "spec/document.h"

#include <catch2/catch.hpp>

#include "job_text.h"

using trainctl::UserError;
using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

namespace {

// The first mistake in a text, as "line:column what".
std::string first_mistake(const std::string& text) {
  try {
    const Document document = Document::parse(text, "job.yaml");
    if (document.problems().empty()) return "";
    const auto& d = document.problems().front();
    return std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + d.what;
  } catch (const UserError& error) {
    const auto& d = error.diagnostics().front();
    return std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + d.what;
  }
}

}  // namespace

TEST_CASE("a document keeps the positions of keys and values", "[spec]") {
  const Document document =
      Document::parse("a: 1\nb:\n  \xC3\xA9: \"x\"  # comment\n  list: [1, 2]\n", "job.yaml");
  const auto& entries = document.root().entries;
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].at.line == 1);
  CHECK(entries[0].value.at.column == 4);
  CHECK_FALSE(entries[0].value.quoted);
  const auto& inner = entries[1].value.entries;
  REQUIRE(inner.size() == 2);
  CHECK(inner[0].at.line == 3);
  CHECK(inner[0].value.at.column == 7);  // bytes: the key takes two
  CHECK(inner[0].value.quoted);
  REQUIRE(inner[1].value.items.size() == 2);
  CHECK(inner[1].value.items[1].at.column == 13);
  CHECK(document.line(4) == "  list: [1, 2]");
}

TEST_CASE("an empty value has the position of its key", "[spec]") {
  const Document document = Document::parse("a:\n\n\nb: ~\nc: {d, e: 1}\n", "job.yaml");
  const auto& entries = document.root().entries;
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].value.at.line == 1);
  CHECK(entries[0].value.at.column == 1);
  CHECK(entries[1].value.at.column == 4);
  CHECK(entries[2].value.entries[0].value.kind == Node::Kind::kNull);
}

TEST_CASE("duplicate keys are refused and both lines named", "[spec]") {
  std::string text = "optimizer:\n  lr: 1\n";
  for (int i = 0; i < 38; ++i) text += "  # filler\n";
  text += "  lr: 2\n";
  CHECK(first_mistake(text) == "41:3 key `lr` is given twice, first at line 2");
  CHECK(first_mistake("a: 1\n\"a\": 2\n") == "2:1 key `a` is given twice, first at line 1");
  CHECK(first_mistake("a: {x: 1}\nb: {x: 1}\n").empty());
}

TEST_CASE("anything but one map is refused", "[spec]") {
  CHECK(first_mistake("a: 1\n---\na: 2\n") == "2:1 a second document starts here");
  CHECK(first_mistake("") == "0:0 the job file is empty");
  CHECK(first_mistake("# nothing\n\n") == "0:0 the job file is empty");
  CHECK(first_mistake("---\n") == "0:0 the job file is empty");
  CHECK(first_mistake("- x\n") == "1:1 a job file is a map of `key: value` lines");
  CHECK(first_mistake("text\n") == "1:1 a job file is a map of `key: value` lines");
  CHECK(first_mistake("--- {a: 1}\n...\n").empty());
}

TEST_CASE("anchors, aliases, merge keys and tags are refused", "[spec]") {
  CHECK(first_mistake("a: &x 1\n") == "1:4 anchors (`&x`) are not supported");
  CHECK(first_mistake("a: 1\n<<: {b: 2}\n") == "2:1 merge keys (`<<`) are not supported");
  CHECK(first_mistake("a: !!str 5\n") == "1:4 tags (`!name`) are not supported");
  CHECK(first_mistake("a: ! 5\n") == "1:4 tags (`!name`) are not supported");
  CHECK(first_mistake("a: !m {b: 1}\n") == "1:4 tags (`!name`) are not supported");
  CHECK(num_errors("a: &x 1\nb: *x\n") >= 2);
  CHECK(first_mistake("a: *x\n") == "1:4 not YAML: the referenced anchor is not defined");
}

TEST_CASE("a byte order mark and carriage returns are accepted", "[spec]") {
  const Document document = Document::parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: x y\r\n",
      "job.yaml");
  CHECK(document.root().entries[0].key == "a");
  CHECK(document.root().entries[0].at.column == 1);
  CHECK(document.root().entries[1].value.text == "x y");
  CHECK(document.line(1) == "a: 1");
}

TEST_CASE("text that is not UTF-8 is refused with its place", "[spec]") {
  CHECK(first_mistake("a: 1\nb: x\xFFy\n") == "2:5 byte 9 (0xff) is not UTF-8");
  CHECK(first_mistake("a: \xC0\xAF\n") == "1:4 byte 3 (0xc0) is not UTF-8");      // overlong
  CHECK(first_mistake("a: \xED\xA0\x80\n") == "1:4 byte 3 (0xed) is not UTF-8");  // surrogate
  CHECK(first_mistake("a: \xE2\x82") == "1:4 byte 3 (0xe2) is not UTF-8");        // cut short
  CHECK(first_mistake(std::string("a: b\0c\n", 7)) == "1:5 byte 4 is the control character 0x00");
  CHECK(first_mistake("a: 1\n\x04"
                      "b: 2\n") == "2:1 byte 5 is the control character 0x04");  // yaml-cpp's end of file
  CHECK(first_mistake("a: 1\rb: 2\n") == "1:5 byte 4 is the control character 0x0d");
}

TEST_CASE("size and depth have limits", "[spec]") {
  CHECK(has(first_mistake("a: " + std::string(kMaxDocumentBytes, 'x')), "the limit is 1048576"));
  CHECK(first_mistake("a: " + std::string(kMaxDocumentBytes - 3, 'x')).empty());
  const auto nested = [](size_t depth) {
    return "a: " + std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  CHECK(first_mistake(nested(kMaxDocumentDepth - 1)).empty());  // the map is one level
  CHECK(has(first_mistake(nested(kMaxDocumentDepth)), "nested more than 32 levels"));
  CHECK(has(first_mistake(nested(100'000)), "nested more than 32 levels"));
}

TEST_CASE("syntax errors are said in our words, with their place", "[spec]") {
  CHECK(has(first_mistake("a: b: c\n"), "1:5 a second `: ` in one value"));
  CHECK(has(first_mistake("a: [1, 2\nb: 3\n"), "1:4 a list `[...]` is not closed"));
  CHECK(has(first_mistake("a: {b: 1\n"), "1:4 a map `{...}` is not closed"));
  CHECK(first_mistake("name: \"foo\n") == "1:7 this quote is never closed");
  CHECK(first_mistake("name: 'it''s\n") == "1:7 this quote is never closed");
  CHECK(first_mistake("name: 'it''s'\n").empty());
  CHECK(first_mistake("name: \"a\\\"b\"\n").empty());
  CHECK(has(first_mistake("? [1, 2]\n: 3\n"), "a key must be plain text"));
}
