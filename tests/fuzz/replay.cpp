// Runs fuzz_one() over every file of a corpus, then over mutations of them: the same ones on every machine,
// because the generator is our own and the seeds are taken in the order of their names.
//   replay_NAME [--runs N] [--limit-s S] [--seed N] CORPUS_FOLDER_OR_FILE...
// A crash leaves its input in the file crash_input of the working folder.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_one.h"

// In a sanitized build a finding must end in SIGABRT, after its report, so that on_crash() sees it.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2";
}
extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

constexpr std::size_t kLongestInput = 65536;
constexpr const char* kTokens[] = {"null", "true",     "-1",
                                   "0",    "1e308",    "-1e-320",
                                   "NaN",  "Infinity", "9223372036854775807",
                                   "[",    "]",        "{",
                                   "}",    "\"\"",     ":",
                                   ",",    "\\u0000",  "18446744073709551616",
                                   "[[[[", "{{{{",     "\xff",
                                   "[1,2", "{\"a\":1", "\xef\xbb\xbf",
                                   "0.5",  "1.0e",     "\"1\""};

// What on_crash() needs; made beforehand, because a signal handler may not allocate.
std::string current_input;
const std::string crash_path = (std::filesystem::current_path() / "crash_input").string();
const std::string crash_message = "fuzz: crashed; the input is in " + crash_path + "\n";

struct Options {
  long runs = 0;
  long limit_s = 0;
  unsigned long seed = 1;
  std::vector<std::filesystem::path> inputs;
};

// xorshift64*: standard distributions differ between libraries, so this draws its own.
class Generator {
 public:
  explicit Generator(unsigned long seed) : state_(seed * 2685821657736338717UL + 1) {}
  std::size_t below(std::size_t limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::size_t>((state_ * 2685821657736338717UL) >> 16) % limit;
  }

 private:
  unsigned long state_;
};

void write_all(int file, const std::string& text) {
  if (write(file, text.data(), text.size()) < 0) _exit(3);
}

void on_crash(int) {
  const int file = open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  write_all(file, current_input);
  write_all(STDERR_FILENO, crash_message);
  _exit(1);
}

void feed(const std::string& input) {
  current_input = input;
  fuzz_one(reinterpret_cast<const std::uint8_t*>(current_input.data()), current_input.size());
}

// One small change: a flipped bit, a removed, repeated or inserted piece, or a splice with another seed.
std::string mutate(std::string text, const std::string& other, Generator& draw) {
  const std::size_t at = draw.below(text.size() + 1);
  const std::size_t length = std::min(text.size() - at, draw.below(16) + 1);
  switch (draw.below(6)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << draw.below(8)));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
      text.replace(at, length, kTokens[draw.below(std::size(kTokens))]);
      break;
    case 4:
      text.insert(at, kTokens[draw.below(std::size(kTokens))]);
      break;
    default:
      text = text.substr(0, at) + other.substr(draw.below(other.size() + 1));
  }
  text.resize(std::min(text.size(), kLongestInput));
  return text;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--runs" && has_value) {
      options.runs = std::atol(argv[++i]);
    } else if (word == "--limit-s" && has_value) {
      options.limit_s = std::atol(argv[++i]);
    } else if (word == "--seed" && has_value) {
      options.seed = std::strtoul(argv[++i], nullptr, 10);
    } else {
      options.inputs.emplace_back(word);
    }
  }
  return options;
}

std::vector<std::string> read_seeds(const std::vector<std::filesystem::path>& inputs) {
  std::vector<std::filesystem::path> files;
  for (const auto& input : inputs) {
    if (std::filesystem::is_directory(input)) {
      for (const auto& entry : std::filesystem::directory_iterator(input)) files.push_back(entry.path());
    } else {
      files.push_back(input);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// Returns how many mutations ran before the count or the time was used up.
long run_mutations(const std::vector<std::string>& seeds, const Options& options) {
  Generator draw(options.seed);
  const auto start = std::chrono::steady_clock::now();
  const auto limit = std::chrono::seconds(options.limit_s);
  for (long run = 0; run < options.runs; ++run) {
    if (options.limit_s > 0 && std::chrono::steady_clock::now() - start > limit) return run;
    std::string input = seeds[draw.below(seeds.size())];
    const std::size_t changes = draw.below(4) + 1;
    for (std::size_t i = 0; i < changes; ++i) input = mutate(input, seeds[draw.below(seeds.size())], draw);
    feed(input);
  }
  return options.runs;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<std::string> seeds = read_seeds(options.inputs);
  if (seeds.empty()) {
    std::fprintf(stderr, "fuzz: no seeds; name a corpus folder or a file\n");
    return 2;
  }
  for (const int signal_number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) signal(signal_number, on_crash);
  for (const std::string& seed : seeds) feed(seed);
  const long done = run_mutations(seeds, options);
  std::printf("fuzz: %zu seeds and %ld mutations, none crashed\n", seeds.size(), done);
  return 0;
}
