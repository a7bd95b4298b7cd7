#include "cli/output.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace shardplan::cli {
namespace {

/// The word before the first colon says yes or no: "hidden: ...", "does not fit: ...".
std::string coloured(const std::string& text, bool yes) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon > text.find('\n')) return text;
  const char* colour = yes ? "\033[1;32m" : "\033[1;31m";
  return colour + text.substr(0, colon) + "\033[0m" + text.substr(colon);
}

int print(const std::string& text, int status) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return status;
  std::fputs("shardplan: standard output could not be written\n", stderr);
  return kWrong;
}

}  // namespace

Output::Output() {
  const char* off = std::getenv("NO_COLOR");
  colour_ = isatty(STDOUT_FILENO) == 1 && (off == nullptr || *off == '\0');
}

int Output::answer(const std::string& text, Json json, bool yes) const {
  const int status = yes ? kYes : kNo;
  if (!json_) return print(colour_ ? coloured(text, yes) : text, status);
  if (!json.contains("schema_version")) {
    Json versioned{{"schema_version", kSchemaVersion}};
    versioned.update(json);
    json = std::move(versioned);
  }
  return print(json.dump(2) + "\n", status);
}

int Output::page(const std::string& text, const std::string& flag) const {
  if (json_) return error({"conflict", flag + " has no JSON form", "--json", "one of them", ""});
  return print(text, kYes);
}

int Output::error(const Error& error) const {
  std::fputs(("shardplan: " + error_line(error) + "\n").c_str(), stderr);
  if (json_) {
    const Json json{{"schema_version", kSchemaVersion}, {"error", error_json(error)}};
    print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", kWrong);
  }
  return kWrong;
}

Error unknown_name(const std::string& what, const std::string& name, const std::string& where,
                   const std::vector<std::string>& names, const std::string& expected) {
  return {"unknown_name", "no " + what + " named \"" + name + "\"", where, expected,
          nearest_name(name, names)};
}

}  // namespace shardplan::cli
