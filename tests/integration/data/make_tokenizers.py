"""Makes tokenizers and the ids they give a mixed text, for comparison with trainctl's.

Usage: python make_tokenizers.py FOLDER [--time]

Writes into FOLDER
    mixed.txt                1 MB: English, code, Chinese, emoji, combining marks, digits, runs of white space, added tokens
    gpt2.json llama3.json    tokenizer.json of byte-level BPE, trained here on mixed.txt; merges as strings and as pairs
    prefix.json              gpt2.json with add_prefix_space
    NAME.ids                 ids of mixed.txt, raw little-endian uint32, by the `tokenizers` package
    sp.txt                   the first 100,000 characters of mixed.txt
    unigram.model bpe.model  SentencePiece models; NAME.ids: of sp.txt, NAME.txt: these decoded, NAME.scores: of each id, float32
--time prints, for each tokenizer.json, the seconds that one thread of the package needs for mixed.txt.
"""
import json
import os
import pydoc_data.topics
import random
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import numpy as np
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
SPACES = " \t\n\r\v\f\x1c\u0085\u00a0\u1680\u180e\u2002\u2003\u2028\u2029\u200b\u202f\u205f\u3000\ufeff"
ODD = ["'s 'S 'LL 've 'RE don't I'D 'ſ 'tis ''s", "e\u0301a\u0308\u0323o\u0302\u0301 n\u0303", "👩‍👩‍👧‍👦 👍🏽 🇩🇪🇫🇷 ☃️ 🏴󠁧󠁢󠁳󠁣󠁴󠁿", "<|endoftext|>",
       "<|end", "<|pad|><|pad|>", "Ǆ ǅ ǆ İ ı ß ẞ ﬁ ﬀ K Å", "١٢٣ ४५६ ①② Ⅷ ½ x² 1234567890 3.14159e-10 0x1F", "한국어 텍스트 ภาษาไทย हिन्दी العربية עברית",
       "\x00\x01\x7f\u0080\u009f\u00ad", "a\u200db \u200c \u2060", "...!!!??? ---- ==== /* */ // # @@ $$ %% ^^ && || ~~ ``", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𒀀 \U0010ffff \ue000"]


def mixed(rng, size):
    topics = "\n\n".join(pydoc_data.topics.topics[k] for k in sorted(pydoc_data.topics.topics))
    with open(json.__file__.replace("__init__", "decoder")) as f:
        code = f.read()
    chinese = [chr(rng.choice([rng.randrange(0x4e00, 0x5200), rng.randrange(0x4e00, 0x9fff)])) for _ in range(400)]
    parts, length = [], 0
    while length < size:
        kind = rng.randrange(8)
        if kind <= 2:
            at = rng.randrange(len(topics) - 2000)
            part = topics[at:at + rng.randrange(200, 2000)]
        elif kind == 3:
            at = rng.randrange(len(code) - 1000)
            part = code[at:at + rng.randrange(100, 1000)]
        elif kind == 4:
            part = "".join(rng.choice(chinese + ["，", "。"]) for _ in range(rng.randrange(1, 300)))
        elif kind == 5:
            part = "".join(rng.choice(SPACES) * rng.choice([1, 1, 2, 3, 9]) + rng.choice(["", "", "x", "1", "."])
                           for _ in range(rng.randrange(1, 30)))
        elif kind == 6:
            part = rng.choice([" ", "", "\n"]).join(rng.choice(ODD) for _ in range(rng.randrange(1, 6)))
        else:
            part = "".join(chr(rng.choice([rng.randrange(0x20, 0x7f), rng.randrange(0xa0, 0x3000)])) for _ in range(60))
        parts.append(part)
        length += len(part.encode())
    return "".join(parts)


def train(pre, text, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=["<|endoftext|>"])
    t.train_from_iterator(text.splitlines(keepends=True), trainer)
    t.add_special_tokens([AddedToken("<|pad|>", normalized=False), AddedToken("<|pad|><|pad|>", normalized=False)])
    t.add_tokens(["getitem", "中国"])
    return t


def save(folder, name, tokenizer, text, edit=None):
    d = json.loads(tokenizer.to_str())
    if edit:
        edit(d)
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as f:
        json.dump(d, f, ensure_ascii=False)
    t = Tokenizer.from_file(path)
    start = time.perf_counter()
    ids = t.encode(text, add_special_tokens=False).ids
    seconds = time.perf_counter() - start
    np.array(ids, dtype="<u4").tofile(os.path.join(folder, name + ".ids"))
    if "--time" in sys.argv:
        print(json.dumps({"tokenizer": name, "seconds": seconds, "ids": len(ids)}))


def as_strings(d):
    d["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in d["model"]["merges"]]


def ignore_merges(d):
    d["model"]["ignore_merges"] = True


def main():
    folder = sys.argv[1]
    text = mixed(random.Random(7), 1_000_000)
    with open(os.path.join(folder, "mixed.txt"), "wb") as f:
        f.write(text.encode())
    gpt2 = train(pre_tokenizers.ByteLevel(add_prefix_space=False), text, 6000)
    save(folder, "gpt2", gpt2, text, as_strings)
    gpt2.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    save(folder, "prefix", gpt2, text)
    llama3 = train(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), text, 8000)
    save(folder, "llama3", llama3, text, ignore_merges)
    part = text[:100_000].replace("\x00", "")
    with open(os.path.join(folder, "sp.txt"), "wb") as f:
        f.write(part.encode())
    for kind in ("unigram", "bpe"):
        prefix = os.path.join(folder, kind)
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(part.splitlines()), model_prefix=prefix, vocab_size=2000,
                                                 model_type=kind, byte_fallback=True, character_coverage=0.99, minloglevel=2)
        processor = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
        ids = processor.encode(part)
        np.array(ids, dtype="<u4").tofile(prefix + ".ids")
        np.array([processor.get_score(i) for i in range(len(processor))], dtype="<f4").tofile(prefix + ".scores")
        with open(prefix + ".txt", "wb") as f:
            f.write(processor.decode(ids).encode())


if __name__ == "__main__":
    main()
