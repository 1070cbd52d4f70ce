#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "job_text.h"
#include "spec/describe.h"
#include "support/golden.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

TEST_CASE("configs SCHEMA.md is what trainctl schema prints", "[spec]") {
  const char* const source = std::getenv("TRAINCTL_SOURCE_DIR");
  REQUIRE(source != nullptr);
  CHECK(trainctl::test::golden(std::filesystem::path(source) / "configs/SCHEMA.md", schema_markdown()) == "");
}

TEST_CASE("every key is described once and has a section", "[spec]") {
  JobSpec spec;
  std::set<std::string> seen;
  for (const Field& field : fields_of(spec)) {
    CAPTURE(field.path);
    CHECK(seen.insert(field.path).second);
    CHECK(field.doc.size() > 4);
    const size_t dot = field.path.find('.');
    bool known = dot == std::string::npos;
    for (const Section& section : sections()) known = known || field.path.substr(0, dot) == section.name;
    CHECK(known);
  }
  CHECK(seen.size() >= 80);
}

TEST_CASE("each key reads what it prints", "[spec]") {
  JobSpec a, b;
  const auto from = fields_of(a), to = fields_of(b);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].type == Type::kChoice) from[i].set(std::string(from[i].choices.back()));
    to[i].set(from[i].get());
    CAPTURE(from[i].path);
    CHECK(to[i].get() == from[i].get());
  }
}
