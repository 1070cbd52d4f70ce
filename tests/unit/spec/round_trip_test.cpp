#include <catch2/catch.hpp>
#include <cstdint>

#include "job_text.h"
#include "spec/describe.h"
#include "spec/presets.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

namespace {

// Keys whose values differ, one a line.
std::string difference(JobSpec a, JobSpec b) {
  std::string out;
  const auto left = fields_of(a), right = fields_of(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].get() != right[i].get())
      out += left[i].path + ": " + to_text(left[i].get()) + " became " + to_text(right[i].get()) + "\n";
  }
  return out;
}

// What the printer writes loads to the same spec and prints the same text.
void check_round_trip(const JobSpec& spec) {
  const std::string yaml = to_yaml(spec);
  CAPTURE(yaml);
  const JobSpec again = load_job_text(yaml, "/elsewhere/spec.yaml").spec;
  CHECK(difference(spec, again).empty());
  CHECK(to_yaml(again) == yaml);
}

class Random {  // splitmix64: the same jobs on every machine
 public:
  uint64_t operator()() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return (*this)() % n; }

 private:
  uint64_t state_ = 1;
};

// A value that the field's own limits allow, as text.
std::string random_value(const Field& field, Random& random) {
  if (field.has_auto && random.below(8) == 0) return "auto";
  switch (field.type) {
    case Type::kBool:
      return random.below(2) == 0 ? "true" : "false";
    case Type::kChoice:
      return std::string(field.choices[random.below(field.choices.size())]);
    case Type::kInt:
      return std::to_string(1 + random.below(random.below(2) == 0 ? 40 : 100'000));
    case Type::kReal:
      return std::to_string(random.below(1000)) + "e-" + std::to_string(3 + random.below(6));
    case Type::kIntList:
      return "[" + std::to_string(1 + random.below(99)) + ", 1_0]";
    case Type::kTextList:
      return "[" __FILE__ "]";
    case Type::kText:
      return field.path == "name" ? "n" + std::to_string(random()) : __FILE__;
  }
  return "";
}

}  // namespace

TEST_CASE("every preset survives printing and reading", "[spec]") {
  for (const std::string& name : preset_names())
    check_round_trip(load_text("model: {preset: " + name + "}\n").spec);
}

TEST_CASE("awkward texts survive printing and reading", "[spec]") {
  for (const char* path : {"/a b/c", "/a$b", "/a${HOME}", "/a#b", "/a: b", "/\"q\"", "/back\\\\slash",
                           "/\xC3\xA9", "/{x}", "/'"}) {
    CAPTURE(path);
    JobSpec spec = load_text(kMlp).spec;
    spec.run_dir = path;
    check_round_trip(spec);
  }
  for (const char* name : {"no", "null", "5", "1e3", "auto", "true", "_x"}) {
    JobSpec spec = load_text(kMlp).spec;
    spec.name = name;
    check_round_trip(spec);
  }
}

TEST_CASE("random jobs survive printing and reading", "[spec]") {
  Random random;
  JobSpec unused;
  const std::vector<Field> fields = fields_of(unused);
  const std::string models[] = {kMlp, kGpt2, kLlama, kResnet};
  int good = 0;
  for (int i = 0; i < 1200; ++i) {
    std::vector<std::string> sets;
    for (uint64_t n = random.below(5); n > 0; --n) {
      const Field& field = fields[random.below(fields.size())];
      if (field.path != "model.preset" && field.path != "model.family")
        sets.push_back(field.path + "=" + random_value(field, random));
    }
    try {
      const LoadedJob job = load_text(models[random.below(4)], sets);
      ++good;
      check_round_trip(job.spec);
    } catch (const trainctl::UserError&) {  // contradicts itself, as random jobs do
    }
  }
  CHECK(good > 200);
}

TEST_CASE("explain says where each value comes from", "[spec]") {
  const LoadedJob job = load_text("model: {preset: gpt2-tiny}\ntrain:\n  steps: 7\n", {"seed=3"});
  const std::string text = to_yaml(job.spec, job.origins);
  const auto line = [&](const std::string& key) {
    const size_t at = text.find("\n  " + key + ": ") + 1;
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(has(text, "\nseed: 3                                 # --set #1\n"));
  CHECK(has(line("steps"), "# job.yaml:3"));
  CHECK(has(line("num_layers"), "# preset gpt2-tiny"));
  CHECK(has(line("total_steps"), "# from train.steps"));
  CHECK(has(line("beta1"), "# default"));
  CHECK(load_job_text(text, "/elsewhere/spec.yaml").spec.train.steps == 7);
}
