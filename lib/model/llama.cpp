// llama.cpp: Llama (Touvron et al. 2023; Grattafiori et al. 2024) with Hugging Face's names: pre-RMS-norm
// blocks, rotary positions, grouped-query attention, SwiGLU, no biases.
//
// Ops stand in statements of their own where C++ leaves their order open: autograd numbers them as they run,
// and runs backward (and so sums gradients) in the order of those numbers, which has to be PyTorch's.
//
// B batch, T tokens, E embedding, H query heads, K key/value heads, D head size (E = H D), F hidden, V
// vocabulary.
#include <ATen/ATen.h>

#include <deque>
#include <optional>

#include "model/families.h"
#include "model/layers.h"
#include "model/rope.h"

namespace trainctl::model {
namespace {

struct Sizes {
  int64_t layers, dim, heads, kv_heads, ffn, vocab, max_seq;
  double eps, dropout;
  bool tied;
  int64_t head_dim() const { return dim / heads; }
};

struct Attention : Layer {
  int64_t heads, kv_heads;
  double drop;  // of attention weights (Hugging Face's attention_dropout)
  Linear q_proj, k_proj, v_proj, o_proj;

  Attention(const Scope& scope, const Sizes& s)
      : heads(s.heads),
        kv_heads(s.kv_heads),
        drop(s.dropout),
        q_proj(scope / "q_proj", s.dim, s.dim, false),
        k_proj(scope / "k_proj", s.dim, s.kv_heads * s.head_dim(), false),
        v_proj(scope / "v_proj", s.dim, s.kv_heads * s.head_dim(), false),
        o_proj(scope / "o_proj", s.dim, s.dim, false) {}

  at::Tensor operator()(const at::Tensor& x_BTE, const Rotation& rotation, bool training) const {
    const int64_t b = x_BTE.size(0), t = x_BTE.size(1), e = x_BTE.size(2), d = e / heads;
    at::Tensor q_BHTD = q_proj(x_BTE).view({b, t, heads, d}).transpose(1, 2);
    at::Tensor k_BKTD = k_proj(x_BTE).view({b, t, kv_heads, d}).transpose(1, 2);
    const at::Tensor v_BKTD = v_proj(x_BTE).view({b, t, kv_heads, d}).transpose(1, 2);
    const Rotation r = rotation.to(q_BHTD.scalar_type());
    q_BHTD = rotate(q_BHTD, r), k_BKTD = rotate(k_BKTD, r);
    const at::Tensor k_BHTD = for_each_query_head(k_BKTD);
    const at::Tensor v_BHTD = for_each_query_head(v_BKTD);
    const at::Tensor y_BHTD = at::scaled_dot_product_attention(q_BHTD, k_BHTD, v_BHTD, /*attn_mask=*/{},
                                                               training ? drop : 0.0, /*is_causal=*/true);
    return o_proj(y_BHTD.transpose(1, 2).reshape({b, t, e}));
  }

  /// Query head h reads key/value head h / (H/K).
  at::Tensor for_each_query_head(const at::Tensor& z_BKTD) const {
    return heads == kv_heads ? z_BKTD : z_BKTD.repeat_interleave(heads / kv_heads, 1);
  }
};

struct FeedForward : Layer {
  Linear gate_proj, up_proj, down_proj;

  FeedForward(const Scope& scope, const Sizes& s)
      : gate_proj(scope / "gate_proj", s.dim, s.ffn, false),
        up_proj(scope / "up_proj", s.dim, s.ffn, false),
        down_proj(scope / "down_proj", s.ffn, s.dim, false) {}

  at::Tensor operator()(const at::Tensor& x_BTE) const {
    const at::Tensor gate_BTF = at::silu(gate_proj(x_BTE));
    return down_proj(gate_BTF * up_proj(x_BTE));
  }
};

struct Block : Layer {
  RmsNorm input_layernorm;
  Attention self_attn;
  RmsNorm post_attention_layernorm;
  FeedForward mlp;

  Block(const Scope& scope, const Sizes& s)
      : input_layernorm(scope / "input_layernorm", s.dim, s.eps),
        self_attn(scope / "self_attn", s),
        post_attention_layernorm(scope / "post_attention_layernorm", s.dim, s.eps),
        mlp(scope / "mlp", s) {}

  at::Tensor operator()(const at::Tensor& x_BTE, const Rotation& rotation, bool training) const {
    const at::Tensor h_BTE = x_BTE + self_attn(input_layernorm(x_BTE), rotation, training);
    return h_BTE + mlp(post_attention_layernorm(h_BTE));
  }
};

class Llama : public SlotModel {
 public:
  Llama(const Sizes& s, const RopeSpec& rope)
      : sizes_(s), rope_(rope), embed_tokens_(scope() / "model" / "embed_tokens", s.vocab, s.dim) {
    for (int64_t n = 0; n < s.layers; ++n) blocks_.emplace_back(scope() / "model" / "layers" / n, s);
    norm_.emplace(scope() / "model" / "norm", s.dim, s.eps);
    if (!s.tied) lm_head_.emplace(scope() / "lm_head", s.dim, s.vocab, /*with_bias=*/false);
  }

  at::Tensor forward(const at::Tensor& tokens_BT) override {
    const int64_t t = tokens_BT.size(1);
    TORCH_CHECK(t <= sizes_.max_seq, "llama: ", t, " tokens, but model.max_seq_len is ", sizes_.max_seq);
    const Rotation rotation = rotation_of(t, tokens_BT.device());
    at::Tensor x_BTE = embed_tokens_(tokens_BT);
    for (const Block& block : blocks_) x_BTE = block(x_BTE, rotation, training());
    x_BTE = (*norm_)(x_BTE);
    return lm_head_ ? (*lm_head_)(x_BTE) : at::linear(x_BTE, embed_tokens_.weight);
  }

  std::vector<std::pair<std::string, std::string>> tied() const override {
    if (!sizes_.tied) return {};
    return {{"lm_head.weight", "model.embed_tokens.weight"}};
  }

  double flops_per_sample(int64_t seq_len) const override {
    const auto& s = sizes_;
    const int64_t attention = 2 * s.dim * (s.dim + s.kv_heads * s.head_dim());
    const double weights = static_cast<double>(s.layers * (attention + 3 * s.dim * s.ffn) + s.dim * s.vocab);
    return transformer_flops(weights, s.layers, s.dim, seq_len);
  }

 private:
  /// The first t positions of a table that is made when it is needed, and doubled when it is too short: for
  /// all of llama3.1's 131072 positions it would take 134 MB.  No state, never saved.
  Rotation rotation_of(int64_t t, at::Device device) {
    const bool usable = rotation_.cos.defined() && rotation_.cos.device() == device;
    if (!usable || rotation_.cos.size(0) < t) {
      const int64_t doubled = usable ? 2 * rotation_.cos.size(0) : 0;
      rotation_ = make_rotation(rope_, std::min(sizes_.max_seq, std::max(t, doubled)), device);
    }
    return rotation_.first(t);
  }

  Sizes sizes_;
  RopeSpec rope_;
  Rotation rotation_;
  Embedding embed_tokens_;
  std::deque<Block> blocks_;
  std::optional<RmsNorm> norm_;
  std::optional<Linear> lm_head_;  // absent where tied to embed_tokens
};

}  // namespace

std::unique_ptr<Model> make_llama(const spec::ModelSpec& spec) {
  const int64_t heads = spec.num_heads.value();
  const Sizes sizes{.layers = spec.num_layers.value(),
                    .dim = spec.dim.value(),
                    .heads = heads,
                    .kv_heads = spec.num_kv_heads.value_or(heads),
                    .ffn = spec.ffn_dim.value(),
                    .vocab = spec.vocab_size.value(),
                    .max_seq = spec.max_seq_len.value(),
                    .eps = spec.norm_eps.value_or(1e-5),
                    .dropout = spec.dropout.value_or(0.0),
                    .tied = spec.tied_embeddings.value_or(false)};
  return std::make_unique<Llama>(sizes, rope_spec(spec));
}

}  // namespace trainctl::model
