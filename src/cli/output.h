// How the program answers: text or JSON on standard output, errors on standard error, the exit status.
//
//   return output.answer(comm_text(a), comm_json(a), !exposed);      // status 0 or 1
//   if (!question) return output.error(question.error());            // status 2
//
// Not here: what is printed (report/).
#pragma once

#include <shardplan/shardplan.h>

#include <string>
#include <vector>

namespace shardplan::cli {

// As grep and diff have them.
inline constexpr int kYes = 0, kNo = 1, kWrong = 2;
inline constexpr int kInterrupted = 130;  // by Ctrl-C, before all was searched; as a shell has it

class Output {
 public:
  /// Colour is for terminals; NO_COLOR turns it off.
  Output();
  void use_json(bool yes) { json_ = yes; }
  bool json() const { return json_; }

  /// An answer that is yes or no. A schema_version is put first in JSON that lacks one.
  int answer(const std::string& text, Json json, bool yes = true) const;
  /// A page that `flag` asks for; there is no JSON of it, and with --json that is an error.
  int page(const std::string& text, const std::string& flag) const;
  int error(const Error& error) const;

 private:
  bool json_ = false;
  bool colour_ = false;
};

/// An error about a name that is not one of `names`.
Error unknown_name(const std::string& what, const std::string& name, const std::string& where,
                   const std::vector<std::string>& names, const std::string& expected);

}  // namespace shardplan::cli
