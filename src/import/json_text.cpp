#include "import/json_text.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

namespace shardplan {
namespace {

constexpr std::size_t kSnippetMax = 24;

/// Recursive descent over the text; the first error stops everything.
template <class Json>
class Parser {
 public:
  Parser(std::string_view text, std::string_view where) : text_(text), where_(where) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  Result<Json> run() {
    Json value = parse_value(0);
    skip_space();
    if (!error_ && at_ < text_.size())
      fail("trailing_text", "text after the end of the value", "end of file");
    if (error_) return *error_;
    return value;
  }

 private:
  // An object that keeps its order is searched from its first key to its last.
  static constexpr std::size_t kKeysMax = std::is_same_v<Json, nlohmann::ordered_json>
                                              ? kOrderedKeysMax
                                              : std::numeric_limits<std::size_t>::max();

  Json parse_value(int depth) {
    skip_space();
    if (depth > kJsonDepthMax) {
      fail("too_deep", fmt::format("nesting deeper than {}", kJsonDepthMax), "a flatter document");
      return {};
    }
    if (at_ >= text_.size()) {
      fail("truncated", "the text ends where a value should be", "a value");
      return {};
    }
    switch (text_[at_]) {
      case '{':
        return parse_object(depth);
      case '[':
        return parse_array(depth);
      case '"':
        return parse_string();
      default:
        return parse_scalar();
    }
  }

  Json parse_object(int depth) {
    Json object = Json::object();
    ++at_;
    if (skip_to('}')) return object;
    while (!error_) {
      skip_space();
      const std::size_t key_at = at_;
      if (at_ >= text_.size() || text_[at_] != '"') {
        fail(at_ < text_.size() ? "syntax" : "truncated", describe("where a key should be"),
             "a key in double quotes");
        break;
      }
      std::string key = parse_string();
      if (error_) break;
      if (object.contains(key)) {
        at_ = key_at;
        fail("duplicate_key", fmt::format("key \"{}\" appears twice in one object", shorten(key)),
             "each key once");
        break;
      }
      if (object.size() >= kKeysMax) {
        at_ = key_at;
        fail("too_large", fmt::format("an object of more than {} keys", kKeysMax), "fewer keys");
        break;
      }
      if (!skip_to(':')) {
        fail(at_ < text_.size() ? "syntax" : "truncated", describe("after a key"), "':'");
        break;
      }
      Json value = parse_value(depth + 1);
      if (error_) break;
      object.emplace(std::move(key), std::move(value));
      if (skip_to('}')) return object;
      if (!skip_to(',')) fail(end_code(), describe("inside an object"), "',' or '}'");
    }
    return object;
  }

  Json parse_array(int depth) {
    Json array = Json::array();
    ++at_;
    if (skip_to(']')) return array;
    while (!error_) {
      Json value = parse_value(depth + 1);
      if (error_) break;
      array.push_back(std::move(value));
      if (skip_to(']')) return array;
      if (!skip_to(',')) fail(end_code(), describe("inside a list"), "',' or ']'");
    }
    return array;
  }

  std::string parse_string() {
    std::string out;
    ++at_;
    while (at_ < text_.size() && !error_) {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c == '\\') {
        parse_escape(out);
      } else if (c < 0x20) {
        fail("syntax", "a control character inside a string", "an escape such as \\n");
      } else if (c < 0x80) {
        out += text_[at_++];
      } else {
        copy_multibyte(out);
      }
    }
    if (!error_) fail("truncated", "the text ends inside a string", "'\"'");
    return out;
  }

  void parse_escape(std::string& out) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt";
    static constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (const auto index = kLetters.find(letter); letter != '\0' && index != std::string_view::npos) {
      out += kMeaning[index];
      at_ += 2;
      return;
    }
    if (letter != 'u')
      return fail("syntax", "unknown escape in a string", "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
    auto code = hex4(at_ + 2);
    std::size_t length = 6;
    if (code && *code >= 0xD800 && *code < 0xDC00 && text_.substr(at_ + 6, 2) == "\\u") {
      const auto low = hex4(at_ + 8);
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
        length = 12;
      }
    }
    if (!code || (*code >= 0xD800 && *code < 0xE000))
      return fail("syntax", "bad \\u escape in a string", "four hexadecimal digits, surrogates in pairs");
    append_utf8(out, *code);
    at_ += length;
  }

  std::optional<unsigned> hex4(std::size_t from) const {
    if (from + 4 > text_.size()) return std::nullopt;
    unsigned value = 0;
    const char* end = text_.data() + from + 4;
    const auto [stop, code] = std::from_chars(text_.data() + from, end, value, 16);
    if (code != std::errc() || stop != end) return std::nullopt;
    return value;
  }

  static void append_utf8(std::string& out, unsigned code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    const int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(kLead[extra] | (code >> (6 * extra)));
    for (int i = extra - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
  }

  /// One UTF-8 sequence of two to four bytes, refused when it is overlong, a surrogate or cut off.
  void copy_multibyte(std::string& out) {
    const unsigned lead = static_cast<unsigned char>(text_[at_]);
    const int extra = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    static constexpr unsigned kLeast[] = {0, 0x80, 0x800, 0x10000};
    unsigned code = lead & (0x3Fu >> extra);
    bool good = lead >= 0xC2 && lead < 0xF5 && at_ + static_cast<std::size_t>(extra) < text_.size();
    for (int i = 1; good && i <= extra; ++i) {
      const unsigned next = static_cast<unsigned char>(text_[at_ + static_cast<std::size_t>(i)]);
      good = (next & 0xC0) == 0x80;
      code = (code << 6) | (next & 0x3F);
    }
    if (!good || code < kLeast[extra] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      return fail("encoding", "invalid UTF-8 in a string", "UTF-8 text");
    out.append(text_.substr(at_, static_cast<std::size_t>(extra) + 1));
    at_ += static_cast<std::size_t>(extra) + 1;
  }

  Json parse_scalar() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (word == "true") return true;
    if (word == "false") return false;
    if (word == "null") return nullptr;
    if (word == "Infinity") return kInfinity;
    if (word == "-Infinity") return -kInfinity;
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (auto number = parse_number(word)) return *number;
    at_ = begin;
    fail(word.empty() || text_.size() > begin + word.size() ? "syntax" : "truncated",
         describe("where a value should be"),
         "a value: object, list, string in double quotes, number, true, false or null");
    return {};
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.' || c == '_';
  }

  /// A number in JSON's grammar; whole numbers that fit stay whole, the rest become doubles.
  static std::optional<Json> parse_number(std::string_view word) {
    std::size_t i = word.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
      const std::size_t from = i;
      while (i < word.size() && word[i] >= '0' && word[i] <= '9') ++i;
      return i - from;
    };
    const std::size_t first = i;
    const std::size_t whole = digits();
    if (whole == 0 || (whole > 1 && word[first] == '0')) return std::nullopt;
    bool is_integer = true;
    if (i < word.size() && word[i] == '.') {
      is_integer = false;
      ++i;
      if (digits() == 0) return std::nullopt;
    }
    if (i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
      is_integer = false;
      ++i;
      if (i < word.size() && (word[i] == '+' || word[i] == '-')) ++i;
      if (digits() == 0) return std::nullopt;
    }
    if (i != word.size()) return std::nullopt;
    const char* end = word.data() + word.size();
    std::int64_t integer = 0;
    if (is_integer && std::from_chars(word.data(), end, integer).ec == std::errc()) return Json(integer);
    double real = 0;
    const auto result = std::from_chars(word.data(), end, real);
    if (result.ec == std::errc::result_out_of_range) real = out_of_range_value(word);
    return Json(real);
  }

  /// from_chars leaves the value alone when it overflows or underflows: as IEEE rounding would have it.
  static double out_of_range_value(std::string_view word) {
    const auto exponent = word.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos && word.substr(exponent + 1).starts_with('-');
    const double size = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    return word.starts_with('-') ? -size : size;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool skip_to(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  const char* end_code() const { return at_ < text_.size() ? "syntax" : "truncated"; }

  static std::string shorten(std::string_view text) {
    std::string out(text.substr(0, kSnippetMax));
    for (char& c : out)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
    return out + (text.size() > kSnippetMax ? "..." : "");
  }
  std::string describe(std::string_view place) const {
    if (at_ >= text_.size()) return fmt::format("the text ends {}", place);
    const std::string_view rest = text_.substr(at_);
    return fmt::format("read `{}` {}", shorten(rest.substr(0, rest.find_first_of("\r\n,}] \t", 1))), place);
  }

  void fail(std::string code, std::string message, std::string expected) {
    if (error_) return;
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto line_start = before.rfind('\n');
    const std::size_t column =
        line_start == std::string_view::npos ? before.size() + 1 : before.size() - line_start;
    error_ = Error{std::move(code),
                   std::move(message),
                   fmt::format("{}:{}:{}", where_, line, column),
                   std::move(expected),
                   {}};
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

template <class Json>
Result<Json> parse(std::string_view text, std::string_view where) {
  if (text.size() > static_cast<std::size_t>(kJsonBytesMax))
    return Error{"too_large",
                 fmt::format("{} bytes of JSON", text.size()),
                 std::string(where),
                 fmt::format("at most {} bytes", kJsonBytesMax),
                 {}};
  return Parser<Json>(text, where).run();
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, std::string_view where) {
  return parse<nlohmann::json>(text, where);
}

Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, std::string_view where) {
  return parse<nlohmann::ordered_json>(text, where);
}

Result<std::string> read_text_file(const std::string& path, std::int64_t max_bytes) {
  const auto error = [&](const char* code, std::string message, std::string expected) {
    return Error{code, std::move(message), path, std::move(expected), {}};
  };
  struct stat info {};
  if (path.empty() || path.find('\0') != std::string::npos || ::stat(path.c_str(), &info) != 0)
    return error("no_such_file", fmt::format("cannot find file {}", path), "a readable text file");
  if (S_ISDIR(info.st_mode))
    return error("not_a_file", fmt::format("{} is a directory", path), "a text file");
  if (!S_ISREG(info.st_mode))
    return error("not_a_file", fmt::format("{} is not a regular file", path), "a text file");
  const std::string limit = fmt::format("at most {} bytes", max_bytes);
  if (info.st_size > max_bytes)
    return error("too_large", fmt::format("{} has {} bytes", path, info.st_size), limit);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return error("unreadable", fmt::format("cannot open {}", path), "a readable text file");
  // The size that stat gave may be 0 (procfs) or change while we read: count what arrives.
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    if (text.size() + got > static_cast<std::size_t>(max_bytes))
      return error("too_large", fmt::format("{} has more than {} bytes", path, max_bytes), limit);
    text.append(buffer, got);
  }
  if (std::ferror(file.get()) != 0)
    return error("unreadable", fmt::format("cannot read {}", path), "a readable text file");
  return text;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kNameMax = 200;
  constexpr std::size_t kLettersPerEdit = 3;
  constexpr std::size_t kLettersOfAStart = 3;  // from which on the only name that starts so is meant
  if (name.empty() || name.size() > kNameMax) return {};
  const std::string wanted = lower(name);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, (wanted.size() + 1) / kLettersPerEdit) + 1;
  for (const std::string& candidate : names) {
    if (candidate.size() > kNameMax) continue;
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (!best.empty() || wanted.size() < kLettersOfAStart) return best;
  const auto starts = [&](const std::string& candidate) { return lower(candidate).starts_with(wanted); };
  const auto found = std::find_if(names.begin(), names.end(), starts);
  const bool only = found != names.end() && std::none_of(found + 1, names.end(), starts);
  return only ? *found : best;
}

}  // namespace shardplan
