// sentencepiece.h: tokenizers of SentencePiece (.model).  The library brings protobuf and tcmalloc along, so
// it stays out of every process that does not ask for it: libtrainctl_sentencepiece.so, in lib/ beside bin/
// of the prefix, is loaded when the first such tokenizer is opened.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/tokenizer.h"

namespace trainctl::tokenizer {

/// encode() is the library's Encode of the text as one sentence.  Throws UserError where the model cannot be
/// read, InfraError where the library cannot be loaded.
std::unique_ptr<Tokenizer> open_sentencepiece(const std::string& path);

}  // namespace trainctl::tokenizer
