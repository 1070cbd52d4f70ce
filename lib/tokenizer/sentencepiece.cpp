#include "tokenizer/sentencepiece.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tokenizer/sentencepiece_plugin.h"
#include "util/diagnostic.h"

namespace trainctl::tokenizer {

namespace {

/// The functions of the plugin; loaded once, never unloaded.
struct Plugin {
  decltype(&trainctl_sentencepiece_open) open;
  decltype(&trainctl_sentencepiece_close) close;
  decltype(&trainctl_sentencepiece_vocab_size) vocab_size;
  decltype(&trainctl_sentencepiece_encode) encode;
  decltype(&trainctl_sentencepiece_decode) decode;
};

const Plugin& plugin() {
  static const Plugin loaded = [] {
    const auto prefix = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
    const auto path = prefix / "lib" / "libtrainctl_sentencepiece.so";
    // RTLD_LOCAL: protobuf's symbols must not meet another copy of it
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw InfraError(fmt::format("cannot load the SentencePiece tokenizer: {}", dlerror()),
                       "install libsentencepiece0, or build trainctl again");
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr)
        throw InfraError(fmt::format("{} has no {}; build it again", path.string(), name));
    };
    Plugin functions{};
    find(functions.open, "trainctl_sentencepiece_open");
    find(functions.close, "trainctl_sentencepiece_close");
    find(functions.vocab_size, "trainctl_sentencepiece_vocab_size");
    find(functions.encode, "trainctl_sentencepiece_encode");
    find(functions.decode, "trainctl_sentencepiece_decode");
    return functions;
  }();
  return loaded;
}

void append_bytes(void* to, const char* bytes, size_t size) {
  static_cast<std::string*>(to)->append(bytes, size);
}

void append_ids(void* to, const int* ids, size_t count) {
  auto& out = *static_cast<std::vector<uint32_t>*>(to);
  out.insert(out.end(), ids, ids + count);
}

class SentencePiece : public Tokenizer {
 public:
  explicit SentencePiece(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    const std::string model = bytes.str();
    if (!file || model.empty()) fail(path, "cannot be read, or is empty");
    identity_ = fmt::format("sentencepiece-{:016x}", XXH3_64bits(model.data(), model.size()));
    std::string reason;
    handle_ = plugin().open(path.c_str(), append_bytes, &reason);
    if (handle_ == nullptr) fail(path, "is no SentencePiece model: " + reason);
  }
  SentencePiece(const SentencePiece&) = delete;
  SentencePiece& operator=(const SentencePiece&) = delete;
  ~SentencePiece() override { plugin().close(handle_); }

  int64_t vocab_size() const override { return plugin().vocab_size(handle_); }

  void encode(std::string_view text, std::vector<uint32_t>& ids) const override {
    if (!plugin().encode(handle_, text.data(), text.size(), append_ids, &ids)) {
      throw UserError(fmt::format("SentencePiece cannot encode a text of {} bytes", text.size()), "");
    }
  }

  std::string decode(std::span<const uint32_t> ids) const override {
    for (const uint32_t id : ids) {
      if (int64_t{id} >= vocab_size()) {
        throw UserError(fmt::format("token {} is not in the tokenizer's vocabulary of {}", id, vocab_size()),
                        "");
      }
    }
    const std::vector<int> copy(ids.begin(), ids.end());
    std::string text;
    if (!plugin().decode(handle_, copy.data(), copy.size(), append_bytes, &text)) throw UserError(text, "");
    return text;
  }

  std::string identity() const override { return identity_; }

 private:
  [[noreturn]] static void fail(const std::string& path, std::string what) {
    throw UserError(
        {.at = {.file = path}, .what = std::move(what), .help = "name a .model file of SentencePiece"});
  }
  void* handle_ = nullptr;
  std::string identity_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_sentencepiece(const std::string& path) {
  return std::make_unique<SentencePiece>(path);
}

}  // namespace trainctl::tokenizer
