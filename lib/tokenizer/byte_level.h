// byte_level.h: everything that turns text into ids once tokenizer.json has been read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tokenizer/bpe.h"
#include "tokenizer/splitter.h"
#include "tokenizer/tokenizer.h"

namespace trainctl::tokenizer {

/// A token that is found in the text as it stands, before anything is split.
struct AddedToken {
  std::string content;
  uint32_t id = 0;
  bool normalized = false;  // looked for after those that are not
};

struct ByteLevelParts {
  Bpe bpe;
  std::optional<Splitter> splitter;  // none: all text is one piece
  bool add_prefix_space = false;     // before text (between added tokens) that does not begin with a space
  std::vector<AddedToken> added;
  std::vector<std::string> bytes_of;  // by id
  std::vector<bool> known;            // ids that are in the vocabulary
  std::string identity;
};

std::unique_ptr<Tokenizer> make_byte_level(ByteLevelParts parts);

}  // namespace trainctl::tokenizer
