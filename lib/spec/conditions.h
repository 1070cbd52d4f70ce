// conditions.h: questions about a spec that more than one place asks.
#pragma once

#include "spec/job_spec.h"

namespace trainctl::spec {

inline bool is_llama(const JobSpec& j) { return j.model.family == ModelFamily::kLlama; }
inline bool is_transformer(const JobSpec& j) { return is_llama(j) || j.model.family == ModelFamily::kGpt2; }
inline bool has_rope_scaling(const JobSpec& j) {
  return is_llama(j) && j.model.rope_scaling == RopeScaling::kLlama31;
}
inline bool has_files(const JobSpec& j) { return j.data.format != DataFormat::kSynthetic; }
inline bool has_images(const JobSpec& j) {
  return j.data.format == DataFormat::kCifar10 || j.data.format == DataFormat::kIdx;
}
inline bool has_tokenizer_file(const JobSpec& j) {
  return j.tokenizer.kind == TokenizerKind::kSentencepiece || j.tokenizer.kind == TokenizerKind::kHuggingface;
}
inline bool has_held_out(const JobSpec& j) { return !j.data.eval.empty() || j.data.holdout > 0; }
inline bool scales_loss(const JobSpec& j) { return j.precision.compute == ComputeDtype::kFp16; }
inline bool decays(const JobSpec& j) { return j.schedule.kind != ScheduleKind::kConstant; }

}  // namespace trainctl::spec
