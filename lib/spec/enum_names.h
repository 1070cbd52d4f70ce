// enum_names.h: how each enumerator is written in a job file, in the enum's order.
#pragma once

#include <array>
#include <string_view>

#include "spec/job_spec.h"

namespace trainctl::spec {

template <class E>
struct Names;

// clang-format off
template <> struct Names<Device> { static constexpr std::array<std::string_view, 3> kAll{"auto", "cpu", "cuda"}; };
template <> struct Names<ModelFamily> { static constexpr std::array<std::string_view, 4> kAll{"mlp", "gpt2", "llama", "resnet"}; };
template <> struct Names<RopeScaling> { static constexpr std::array<std::string_view, 2> kAll{"none", "llama3.1"}; };
template <> struct Names<DataFormat> {
  static constexpr std::array<std::string_view, 8> kAll{"text", "tokens_u16", "tokens_u32", "llmc", "megatron", "cifar10", "idx", "synthetic"};
};
template <> struct Names<LastBatch> { static constexpr std::array<std::string_view, 2> kAll{"drop", "pad"}; };
template <> struct Names<AuditLevel> { static constexpr std::array<std::string_view, 3> kAll{"off", "sampled", "full"}; };
template <> struct Names<TokenizerKind> { static constexpr std::array<std::string_view, 4> kAll{"none", "bytes", "sentencepiece", "hugging_face"}; };
template <> struct Names<OptimizerKind> { static constexpr std::array<std::string_view, 2> kAll{"adamw", "sgd"}; };
template <> struct Names<DecayTensors> { static constexpr std::array<std::string_view, 2> kAll{"matrices", "all"}; };
template <> struct Names<NonFinite> { static constexpr std::array<std::string_view, 2> kAll{"stop", "skip"}; };
template <> struct Names<ScheduleKind> { static constexpr std::array<std::string_view, 4> kAll{"constant", "linear", "cosine", "wsd"}; };
template <> struct Names<ComputeDtype> { static constexpr std::array<std::string_view, 3> kAll{"fp32", "bf16", "fp16"}; };
template <> struct Names<Strategy> { static constexpr std::array<std::string_view, 3> kAll{"auto", "none", "ddp"}; };
// clang-format on

/// "adamw" for OptimizerKind::kAdamW.
template <class E>
constexpr std::string_view name_of(E value) {
  return Names<E>::kAll[static_cast<size_t>(value)];
}

}  // namespace trainctl::spec
