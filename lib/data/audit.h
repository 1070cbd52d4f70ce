// audit.h: is the data what the job says?  Asked before a device is touched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/job_spec.h"
#include "util/diagnostic.h"

namespace trainctl::data {

struct AuditReport {
  std::vector<Diagnostic> diagnostics;  // errors, warnings and notes, in order of the files
  spec::AuditLevel level = spec::AuditLevel::kSampled;
  std::string list_hash;
  int64_t num_files = 0, num_skipped = 0;
  uint64_t size_bytes = 0, checked_bytes = 0;  // of the files; of these, bytes whose values were looked at
  uint64_t num_tokens = 0;                     // 0 for images
  int64_t train_samples = 0, held_out_samples = 0;
  int64_t samples_per_epoch = 0;  // sampler.h's N'
  bool counted = true;            // false: text that only the run or kFull tokenises; no samples known
  double seconds = 0;
  bool ok() const;  // no error
};

/// Checks a resolved job's data.  Every level opens all files: sizes against dtype and header, empty and too
/// small files, samples enough for one micro-batch on every rank.  kSampled looks at the first and last page
/// of each file and at random ones between, within about 50 ms; kFull at every token and label, with all
/// cores, at the index of Megatron pairs, and tokenises text; kOff stops after the sizes.  What is looked
/// for: a token at or above the vocabulary (file, offset, id), a label at or above the classes, uint32 read
/// as uint16.  Throws only where the spec itself lacks what the data needs (UserError).
AuditReport audit(const spec::JobSpec& job, spec::AuditLevel level);

/// A few lines for people, without the findings; and one JSON object with them.
std::string to_text(const AuditReport& report);
std::string to_json(const AuditReport& report);

}  // namespace trainctl::data
