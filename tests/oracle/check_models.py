"""Checks models.py against the published implementations: transformers (GPT-2, Llama) and torchvision (ResNet-18).

Usage:  python check_models.py          prints a line a model, exits with 1 if one differs

Both get the same weights (init_weights.py's times 3, norms and biases perturbed, so that no term is negligible) and the
same input, in fp32.  Names must be equal; logits and every gradient agree to 5e-6 of their largest element: two correct
orders of summation differ by up to 7e-7 in these models (measured), a wrong constant by far more.
"""
import sys

from side_by_side import become_oracle

become_oracle("checking the oracle's models")
import torch  # noqa: E402

import init_weights  # noqa: E402
from models import PRESETS, build, loss_of  # noqa: E402

LIMIT = 5e-6


def published(preset):
    c = PRESETS[preset]
    if c["family"] == "resnet":
        import torchvision
        model = torchvision.models.resnet18(num_classes=c["classes"])
        if c["cifar_stem"]:
            model.conv1, model.maxpool = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False), torch.nn.Identity()
        return model
    import transformers
    if c["family"] == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_layer=c["layers"], n_embd=c["dim"], n_head=c["heads"], n_positions=c["seq"], vocab_size=c["vocab"],
            resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=c["layers"], hidden_size=c["dim"], num_attention_heads=c["heads"],
        num_key_value_heads=c["kv_heads"], intermediate_size=c["ffn"], vocab_size=c["vocab"], rms_norm_eps=1e-5,
        max_position_embeddings=c["seq"], rope_parameters={"rope_type": "default", "rope_theta": c["theta"]},
        tie_word_embeddings=False))


def weights(model, preset):
    gen = torch.Generator().manual_seed(1)
    out = {}
    for name, t in init_weights.tensors(model, preset, 0).items():
        if t.dim() > 1:
            out[name] = t if PRESETS[preset]["family"] == "resnet" else 3 * t
        else:
            out[name] = t + 0.1 * torch.rand(t.shape, generator=gen) if t.is_floating_point() else t
    return out


def relative(a, b):
    return float((a - b).abs().max() / b.abs().max().clamp_min(1e-6))


def check(preset):
    ours, theirs = build(preset), published(preset)
    w = weights(ours, preset)
    ours.load_state_dict(w)
    missing, unexpected = theirs.load_state_dict(w, strict=False)
    names = {n for n, _ in ours.named_parameters()} == {n for n, _ in theirs.named_parameters()}
    gen = torch.Generator().manual_seed(2)
    c = PRESETS[preset]
    if c["family"] == "resnet":
        x = torch.rand(4, 3, c["image"], c["image"], generator=gen) * 2 - 1
        y = torch.randint(c["classes"], (4,), generator=gen)
    else:
        x, y = torch.randint(c["vocab"], (2, 2, c["seq"]), generator=gen)
    ours.train(), theirs.train()
    a, b = ours(x), theirs(x)
    b = b if isinstance(b, torch.Tensor) else b.logits
    loss_of(a, y).backward(), loss_of(b, y).backward()
    theirs_grad = {n: p.grad for n, p in theirs.named_parameters()}
    grads = max((relative(p.grad, theirs_grad[n]) for n, p in ours.named_parameters() if n in theirs_grad), default=1)
    logits = relative(a.detach(), b.detach())
    good = names and not unexpected and set(missing) <= {"lm_head.weight"} and max(logits, grads) <= LIMIT
    print(f"{preset}: names {'equal' if names else 'DIFFER'}, logits {logits:.1e}, gradients {grads:.1e}: "
          f"{'agrees' if good else 'DIFFERS'}")
    return good


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(0 if all([check(p) for p in ("gpt2-tiny", "llama-tiny", "resnet18-cifar")]) else 1)
