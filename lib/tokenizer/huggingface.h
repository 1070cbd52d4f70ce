// huggingface.h: byte-level BPE as Hugging Face's tokenizer.json describes it (GPT-2, Llama 3 and their
// like).
//
// Read: model BPE (vocab, merges as "a b" or ["a", "b"], ignore_merges), pre_tokenizer ByteLevel, or a
// Sequence of one Split by a regular expression and ByteLevel, added_tokens.  The post-processor is not
// applied: no beginning or end marks are added.  Anything else that would change the ids is refused, by name.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/tokenizer.h"

namespace trainctl::tokenizer {

std::unique_ptr<Tokenizer> open_huggingface(const std::string& path);

/// The same from the file's text; `name` stands for it in messages.
std::unique_ptr<Tokenizer> parse_huggingface(const std::string& json, const std::string& name);

}  // namespace trainctl::tokenizer
