"""Checks the engine's models against PyTorch: the reference models.py, transformers and torchvision.

Usage:  python check_engine_models.py MODEL_PROBE gpt2|llama|resnet|mlp     prints a line a case, exits with 1 on a difference

MODEL_PROBE (model_probe.cpp) runs our side from the same weights and inputs, one thread on both sides.

Limits, relative to the largest element of a tensor:
    reference models.py    1e-6: the same ATen ops in the same order; on the same LibTorch it is 0, another build of it may
                           round a matmul differently (2e-7 to 7e-7 between correct orders of summation)
    published models       5e-6: other ops for the same formula (check_models.py states the same limit, with its reason)
    bf16, reference        0 is the aim as in fp32; 1e-2 (one bf16 rounding is 4e-3) for another build
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from side_by_side import become_oracle  # noqa: E402

become_oracle("checking the engine's models")
import torch  # noqa: E402
from safetensors import safe_open  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import check_models  # noqa: E402
from models import PRESETS, build, loss_of  # noqa: E402

torch.set_num_threads(1)
PROBE = sys.argv[1]
SAME, PUBLISHED, BF16 = 1e-6, 5e-6, 1e-2


def run_probe(folder, spec, x, y, weights=None):
    """Our logits and gradients: (names in order, dict of tensors)."""
    if weights is not None:
        save_file({n: t.contiguous() for n, t in weights.items()}, folder / "weights.safetensors")
        spec = {**spec, "init_from": str(folder / "weights.safetensors")}
    save_file({"x": x.contiguous(), "y": y.contiguous()}, folder / "input.safetensors")
    (folder / "spec.json").write_text(json.dumps(spec))
    done = subprocess.run([PROBE, folder / "spec.json", folder / "input.safetensors", folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.split(), load_file(folder / "probe.safetensors")


def batch(spec_of_batch, seed=2):
    gen = torch.Generator().manual_seed(seed)
    c = spec_of_batch
    if "image" in c:
        return torch.rand(4, 3, c["image"], c["image"], generator=gen) * 2 - 1, torch.randint(c["classes"], (4,), generator=gen)
    if "dims" in c:
        return torch.rand(8, c["dims"][0], generator=gen) * 2 - 1, torch.randint(c["dims"][-1], (8,), generator=gen)
    x, y = torch.randint(c["vocab"], (2, 2, c["seq"]), generator=gen)
    return x, y


def perturbed(model):
    """Weights of a model such that no term is negligible: matrices of standard deviation 0.06 (resnet: He's), norms and
    biases away from 1 and 0."""
    gen = torch.Generator().manual_seed(1)
    out = {}
    for name, t in model.state_dict().items():
        if not t.is_floating_point():
            out[name] = torch.zeros_like(t)
        elif t.dim() == 4:
            out[name] = torch.randn(t.shape, generator=gen) * (2 / (t.shape[0] * t.shape[2] * t.shape[3])) ** 0.5
        elif t.dim() >= 2:
            out[name] = torch.randn(t.shape, generator=gen) * 0.06
        else:
            base = 1.0 if name.endswith(("weight", "running_var")) else 0.0
            out[name] = base + 0.1 * torch.rand(t.shape, generator=gen)
    return out


def compare(title, limit, model, weights, probe, bf16=False, same_order=True):
    """Runs `model` on the probe's weights and input; compares names, logits, gradients and buffers."""
    spec, x, y, folder = probe
    names, ours = run_probe(folder, spec, x, y, weights)
    torch.manual_seed(spec.get("seed", 0))
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model(x)
    logits = logits if isinstance(logits, torch.Tensor) else logits.logits
    loss_of(logits, y).backward()
    named = dict(model.named_parameters())
    right_names = names == list(named) if same_order else set(names) == set(named)
    worst = {"logits": check_models.relative(ours["logits"], logits.detach().float())}
    for name, p in named.items():
        if right_names:
            worst["grad " + name] = check_models.relative(ours["grad." + name], p.grad)
    for name, b in model.named_buffers():
        if "buffer." + name in ours:
            worst["buffer " + name] = check_models.relative(ours["buffer." + name].float(), b.float())
    where = max(worst, key=worst.get)
    good = right_names and worst[where] <= limit
    print(f"{title}: names {'equal' if right_names else 'DIFFER'}, logits {worst['logits']:.1e}, worst {worst[where]:.1e} "
          f"({where}), limit {limit:.0e}: {'agrees' if good else 'DIFFERS'}")
    return good


def against_reference(preset, folder, bf16=False, train=True):
    model = build(preset)
    weights = perturbed(model)
    model.load_state_dict(weights)
    model.train(train)
    x, y = batch(PRESETS[preset])
    title = f"{preset} against models.py, {'bf16' if bf16 else 'fp32'}, {'training' if train else 'evaluation'}"
    return compare(title, BF16 if bf16 else SAME, model, weights,
                   ({"preset": preset, "bf16": bf16, "train": train}, x, y, folder), bf16)


def without_tied_head(model):
    weights = perturbed(model)
    if model.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    return weights


def load_published(model, weights):
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)


def gpt2_published(folder):
    """transformers' GPT-2 with dropout: the same ops draw from the same generator, so the masks are equal too."""
    import transformers
    good = True
    for dropout in (0.0, 0.1):
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_layer=2, n_embd=64, n_head=4, n_positions=64, vocab_size=256, resid_pdrop=dropout, embd_pdrop=dropout,
            attn_pdrop=dropout, bos_token_id=0, eos_token_id=0, attn_implementation="sdpa"))
        weights = without_tied_head(model)
        load_published(model, weights)
        model.train()
        x, y = batch(PRESETS["gpt2-tiny"])
        good &= compare(f"gpt2 against transformers, dropout {dropout}", PUBLISHED, model, weights,
                        ({"preset": "gpt2-tiny", "dropout": dropout, "seed": 3}, x, y, folder))
    return good


def llama_config(tied, scaled):
    import transformers
    rope = {"rope_type": "default", "rope_theta": 500000.0}
    if scaled:
        rope.update(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=32)
    return transformers.LlamaConfig(
        num_hidden_layers=2, hidden_size=128, num_attention_heads=4, num_key_value_heads=2, intermediate_size=172,
        vocab_size=256, rms_norm_eps=1e-5, max_position_embeddings=256, tie_word_embeddings=tied, rope_parameters=rope)


LLAMA = {"preset": "llama3.1-8b", "num_layers": 2, "dim": 128, "num_heads": 4, "num_kv_heads": 2, "ffn_dim": 172,
         "vocab_size": 256, "max_seq_len": 256, "rope_original_max_seq_len": 32}


def llama_published(folder):
    import transformers
    good = True
    for tied, scaled in ((False, False), (True, True)):
        model = transformers.LlamaForCausalLM(llama_config(tied, scaled))
        weights = without_tied_head(model)
        load_published(model, weights)
        model.train()
        x, y = batch({"vocab": 256, "seq": 200})
        spec = {**LLAMA, "preset": "llama3.1-8b" if scaled else "llama3-8b", "tied_embeddings": tied}
        good &= compare(f"llama against transformers, {'tied' if tied else 'untied'}, "
                        f"{'Llama 3.1 scaling' if scaled else 'no scaling'}", PUBLISHED, model, weights,
                        (spec, x, y, folder), same_order=False)
    return good


def resnet_published(folder):
    import torchvision
    good = True
    for name, make in (("resnet18", torchvision.models.resnet18), ("resnet50", torchvision.models.resnet50)):
        model = make(num_classes=10)
        weights = perturbed(model)
        model.load_state_dict(weights)
        x, y = batch({"image": 64, "classes": 10})
        # In evaluation: batch statistics of 4 images of 2 x 2 pixels would amplify rounding without bound.
        model.eval()
        good &= compare(f"{name} against torchvision", PUBLISHED, model, weights,
                        ({"preset": name, "num_classes": 10, "image_size": 64, "train": False}, x, y, folder))
    return good


def round_trip(spec, folder):
    """What save_weights and save_config write is a folder for from_pretrained: the same logits, the same bytes."""
    import transformers
    x, y = batch({"vocab": 256, "seq": 64})
    names, ours = run_probe(folder, {**spec, "train": False, "seed": 7}, x, y)
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = check_models.relative(ours["logits"], model(x).logits)
    with safe_open(folder / "model.safetensors", "pt") as file:
        stored, metadata = list(file.keys()), file.metadata()
    tied = model.config.tie_word_embeddings
    good = logits <= PUBLISHED and sorted(stored) == sorted(names) and metadata["format"] == "pt" \
        and ("lm_head.weight" in metadata) == tied
    print(f"{spec['preset']} written, read by transformers: logits {logits:.1e}, {len(stored)} tensors, metadata {metadata}: "
          f"{'agrees' if good else 'DIFFERS'}")
    return good


CASES = {
    "gpt2": [lambda f: against_reference("gpt2-tiny", f), lambda f: against_reference("gpt2-tiny", f, bf16=True),
             gpt2_published, lambda f: round_trip({"preset": "gpt2-tiny"}, f)],
    "llama": [lambda f: against_reference("llama-tiny", f), lambda f: against_reference("llama-tiny", f, bf16=True),
              llama_published, lambda f: round_trip({**LLAMA, "tied_embeddings": True}, f),
              lambda f: round_trip({"preset": "llama-tiny"}, f)],
    "resnet": [lambda f: against_reference("resnet18-cifar", f),
               lambda f: against_reference("resnet18-cifar", f, train=False), resnet_published],
    "mlp": [lambda f: against_reference("mlp-toy", f), lambda f: against_reference("mlp-toy", f, bf16=True)],
}

if __name__ == "__main__":
    results = []
    for case in CASES[sys.argv[2]]:
        with tempfile.TemporaryDirectory() as name:
            results.append(case(pathlib.Path(name)))
    sys.exit(0 if all(results) else 1)
