// text_files.h: text through a tokenizer, as one stream of tokens.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/file_list.h"
#include "data/token_stream.h"
#include "spec/job_spec.h"
#include "tokenizer/tokenizer.h"
#include "util/diagnostic.h"

namespace trainctl::data {

/// The tokenizer that the spec asks for; throws UserError where it asks for none.
std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const spec::TokenizerSpec& spec);

/// The files one after the other.  Bytes are read where they lie; for other tokenizers each file is encoded
/// by itself (no token spans two files), into memory or, from 1 MiB of text, into a token file in the user's
/// cache that later runs and the other ranks find.  nullopt where there is nothing, `tokenize` is false and
/// bytes are not asked for, or something is wrong (in `found`).
std::optional<TokenStream> open_text(const spec::TokenizerSpec& spec, const std::vector<DataFile>& files,
                                     bool tokenize, std::vector<Diagnostic>& found);

}  // namespace trainctl::data
