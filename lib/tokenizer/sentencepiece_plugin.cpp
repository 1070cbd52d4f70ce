#include "tokenizer/sentencepiece_plugin.h"

#include <sentencepiece_processor.h>

#include <memory>

using sentencepiece::SentencePieceProcessor;

namespace {

SentencePieceProcessor& as_processor(void* handle) { return *static_cast<SentencePieceProcessor*>(handle); }

}  // namespace

void* trainctl_sentencepiece_open(const char* path, TrainctlBytes fail, void* to) {
  auto processor = std::make_unique<SentencePieceProcessor>();
  const auto status = processor->Load(path);
  if (status.ok()) return processor.release();
  const auto text = status.ToString();
  fail(to, text.data(), text.size());
  return nullptr;
}

void trainctl_sentencepiece_close(void* handle) { delete &as_processor(handle); }

int trainctl_sentencepiece_vocab_size(void* handle) { return as_processor(handle).GetPieceSize(); }

bool trainctl_sentencepiece_encode(void* handle, const char* text, size_t size, TrainctlIds give, void* to) {
  std::vector<int> ids;
  if (!as_processor(handle).Encode({text, size}, &ids).ok()) return false;
  give(to, ids.data(), ids.size());
  return true;
}

bool trainctl_sentencepiece_decode(void* handle, const int* ids, size_t count, TrainctlBytes give, void* to) {
  std::string text;
  const auto status = as_processor(handle).Decode(std::vector<int>(ids, ids + count), &text);
  if (!status.ok()) text = status.ToString();
  give(to, text.data(), text.size());
  return status.ok();
}
