// driver.cpp: runs a libFuzzer-style target (LLVMFuzzerTestOneInput) without libFuzzer, which gcc lacks.
//   <target> --seconds S [--seed N] FILE-OR-FOLDER...   mutates the corpus for S seconds; the order is fixed
//   by the seed <target> FILE                                        runs one input, as saved by a failure
// The input at hand is written to <target>.crash when the target throws, crashes or takes longer than 5 s.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr unsigned kSlowSeconds = 5;
constexpr size_t kLongestInput = 8192;

std::string current;  // the input at hand, for the signal handler
std::string crash_file;

// Only async-signal-safe calls: the heap may be broken.
void save_current() {
  const int fd = open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return;
  if (write(fd, current.data(), current.size()) < 0) _exit(1);
  close(fd);
}

void on_signal(int number) {
  save_current();
  static constexpr char kText[] = "fuzz: crashed or took too long; the input is in the .crash file\n";
  if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(1);
  signal(number, SIG_DFL);
  raise(number);
}

class Random {  // splitmix64
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  size_t below(size_t n) {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return n == 0 ? 0 : static_cast<size_t>((z ^ (z >> 31)) % n);
  }

 private:
  uint64_t state_;
};

// A piece of `text`, up to 32 bytes.
std::string piece(const std::string& text, Random& random) {
  const size_t begin = random.below(text.size());
  return text.substr(begin, 1 + random.below(32));
}

void mutate_once(std::string& text, const std::vector<std::string>& corpus, Random& random) {
  const size_t at = random.below(text.size() + 1);
  switch (random.below(7)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
      break;
    case 1:
      text.insert(at, 1, static_cast<char>(random.below(256)));
      break;
    case 2:
      text.erase(at, 1 + random.below(16));
      break;
    case 3:
      text.insert(at, piece(text, random));
      break;
    case 4:
      text.insert(at, piece(corpus[random.below(corpus.size())], random));
      break;
    case 5:
      text.resize(at);
      break;
    case 6: {
      const std::string& other = corpus[random.below(corpus.size())];
      text = text.substr(0, at) + other.substr(random.below(other.size() + 1));
      break;
    }
  }
  if (text.size() > kLongestInput) text.resize(kLongestInput);
}

// Returns false where the target throws: nothing may escape from it.
bool run(const std::string& input) {
  current = input;
  alarm(kSlowSeconds);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current.data()), current.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz: an exception escaped: %s\n", error.what());
    save_current();
    return false;
  } catch (...) {
    std::fprintf(stderr, "fuzz: an unknown exception escaped\n");
    save_current();
    return false;
  }
  alarm(0);
  return true;
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void add_corpus(const fs::path& path, std::vector<std::string>& corpus) {
  if (!fs::is_directory(path)) return corpus.push_back(read_file(path));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.file_size() <= kLongestInput) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());  // the folder's own order differs between machines
  for (const fs::path& file : files) corpus.push_back(read_file(file));
}

}  // namespace

int main(int argc, char** argv) {
  crash_file = fs::path(argv[0]).filename().string() + ".crash";
  double seconds = 0;
  uint64_t seed = 1;
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else if (word == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else
      add_corpus(word, corpus);
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s [--seconds S] [--seed N] FILE-OR-FOLDER...\n", argv[0]);
    return 2;
  }
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGALRM}) signal(number, on_signal);

  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  size_t runs = 0;
  for (const std::string& input : corpus) {
    if (!run(input)) return 1;
    ++runs;
  }
  Random random(seed);
  while (elapsed() < seconds) {
    std::string input = corpus[random.below(corpus.size())];
    for (size_t n = 1 + random.below(6); n > 0; --n) mutate_once(input, corpus, random);
    if (!run(input)) return 1;
    ++runs;
  }
  std::printf("%zu inputs in %.1f s, seed %llu: nothing escaped\n", runs, elapsed(),
              static_cast<unsigned long long>(seed));
  return 0;
}
