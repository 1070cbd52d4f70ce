// gpt2.cpp: GPT-2 (Radford et al. 2019) with Hugging Face's names and layouts: pre-layer-norm blocks, learned
// positions, GELU in its tanh form, Conv1D weights [in, out], a head that is usually the token embedding.
//
// B batch, T tokens, E embedding, H heads, D head size (E = H D), F hidden (4 E), V vocabulary.
#include <ATen/ATen.h>

#include <deque>
#include <optional>

#include "model/families.h"
#include "model/layers.h"

namespace trainctl::model {
namespace {

struct Sizes {
  int64_t layers, dim, heads, ffn, vocab, max_seq;
  double eps, dropout;
  bool tied;
};

struct Attention : Layer {
  int64_t heads;
  double drop;
  Conv1D c_attn, c_proj;  // c_attn's columns are q | k | v

  Attention(const Scope& scope, const Sizes& s)
      : heads(s.heads),
        drop(s.dropout),
        c_attn(scope / "c_attn", s.dim, 3 * s.dim),
        c_proj(scope / "c_proj", s.dim, s.dim) {}

  at::Tensor operator()(const at::Tensor& x_BTE, bool training) const {
    const int64_t b = x_BTE.size(0), t = x_BTE.size(1), e = x_BTE.size(2);
    const auto qkv = c_attn(x_BTE).split(e, 2);
    const auto by_head = [&](const at::Tensor& z_BTE) {
      return z_BTE.view({b, t, heads, -1}).transpose(1, 2);
    };
    const at::Tensor q_BHTD = by_head(qkv[0]), k_BHTD = by_head(qkv[1]), v_BHTD = by_head(qkv[2]);
    const at::Tensor y_BHTD = at::scaled_dot_product_attention(q_BHTD, k_BHTD, v_BHTD, /*attn_mask=*/{},
                                                               training ? drop : 0.0, /*is_causal=*/true);
    return drop_elements(c_proj(y_BHTD.transpose(1, 2).reshape({b, t, e})), drop, training);
  }
};

struct FeedForward : Layer {
  double drop;
  Conv1D c_fc, c_proj;

  FeedForward(const Scope& scope, const Sizes& s)
      : drop(s.dropout), c_fc(scope / "c_fc", s.dim, s.ffn), c_proj(scope / "c_proj", s.ffn, s.dim) {}

  at::Tensor operator()(const at::Tensor& x_BTE, bool training) const {
    return drop_elements(c_proj(at::gelu(c_fc(x_BTE), "tanh")), drop, training);
  }
};

struct Block : Layer {
  LayerNorm ln_1;
  Attention attn;
  LayerNorm ln_2;
  FeedForward mlp;

  Block(const Scope& scope, const Sizes& s)
      : ln_1(scope / "ln_1", s.dim, s.eps),
        attn(scope / "attn", s),
        ln_2(scope / "ln_2", s.dim, s.eps),
        mlp(scope / "mlp", s) {}

  at::Tensor operator()(const at::Tensor& x_BTE, bool training) const {
    const at::Tensor h_BTE = x_BTE + attn(ln_1(x_BTE), training);
    return h_BTE + mlp(ln_2(h_BTE), training);
  }
};

class Gpt2 : public SlotModel {
 public:
  explicit Gpt2(const Sizes& s)
      : sizes_(s),
        wte_(scope() / "transformer" / "wte", s.vocab, s.dim),
        wpe_(scope() / "transformer" / "wpe", s.max_seq, s.dim) {
    for (int64_t n = 0; n < s.layers; ++n) blocks_.emplace_back(scope() / "transformer" / "h" / n, s);
    ln_f_.emplace(scope() / "transformer" / "ln_f", s.dim, s.eps);
    if (!s.tied) lm_head_.emplace(scope() / "lm_head", s.dim, s.vocab, /*with_bias=*/false);
  }

  at::Tensor forward(const at::Tensor& tokens_BT) override {
    const int64_t t = tokens_BT.size(1);
    TORCH_CHECK(t <= sizes_.max_seq, "gpt2: ", t, " tokens, but positions for ", sizes_.max_seq);
    const at::Tensor position_T = at::arange(t, tokens_BT.options());
    at::Tensor x_BTE = drop_elements(wte_(tokens_BT) + wpe_(position_T), sizes_.dropout, training());
    for (const Block& block : blocks_) x_BTE = block(x_BTE, training());
    x_BTE = (*ln_f_)(x_BTE);
    return lm_head_ ? (*lm_head_)(x_BTE) : at::linear(x_BTE, wte_.weight);
  }

  std::vector<std::pair<std::string, std::string>> tied() const override {
    if (!sizes_.tied) return {};
    return {{"lm_head.weight", "transformer.wte.weight"}};
  }

  double flops_per_sample(int64_t seq_len) const override {
    const auto& s = sizes_;
    const double weights = static_cast<double>(s.layers * s.dim * (4 * s.dim + 2 * s.ffn) + s.dim * s.vocab);
    return transformer_flops(weights, s.layers, s.dim, seq_len);
  }

 private:
  Sizes sizes_;
  Embedding wte_, wpe_;
  std::deque<Block> blocks_;
  std::optional<LayerNorm> ln_f_;
  std::optional<Linear> lm_head_;  // absent where tied to wte
};

}  // namespace

std::unique_ptr<Model> make_gpt2(const spec::ModelSpec& spec) {
  const int64_t dim = spec.dim.value();
  return std::make_unique<Gpt2>(Sizes{.layers = spec.num_layers.value(),
                                      .dim = dim,
                                      .heads = spec.num_heads.value(),
                                      .ffn = spec.ffn_dim.value_or(4 * dim),
                                      .vocab = spec.vocab_size.value(),
                                      .max_seq = spec.max_seq_len.value(),
                                      .eps = spec.norm_eps.value_or(1e-5),
                                      .dropout = spec.dropout.value_or(0.0),
                                      .tied = spec.tied_embeddings.value_or(true)});
}

}  // namespace trainctl::model
