#include "cli/usage.h"

#include <algorithm>

#include "cli/output.h"

namespace shardplan::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "one of " : ", ") + name;
  return list;
}

bool is_flag(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-' && (argument[1] < '0' || argument[1] > '9') &&
         argument[1] != '.';
}

/// The first flag that the command does not have.
std::string unknown_flag(const CLI::App& command, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    std::string flag = argument.substr(0, argument.find('='));
    if (is_flag(flag) && command.get_option_no_throw(flag) == nullptr) return flag;
  }
  return "";
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

const CLI::App* command_of(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!arguments.empty() && command->get_name() == arguments.front()) return command;
  }
  return nullptr;
}

std::ptrdiff_t times_told(const std::vector<std::string>& arguments, const std::string& flag) {
  return std::count_if(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument.substr(0, argument.find('=')) == flag;
  });
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Error usage_error(const CLI::App& app, const std::vector<std::string>& arguments,
                  const CLI::ParseError& failure) {
  const CLI::App* command = command_of(app, arguments);
  const std::vector<std::string> commands = command_names(app);
  if (command == nullptr && !arguments.empty() && !is_flag(arguments.front())) {
    return unknown_name("command", arguments.front(), "", commands, listed(commands));
  }
  if (command == nullptr && arguments.empty()) {
    return {"missing_command", "no command", "", listed(commands) + "; see shardplan --help", ""};
  }
  const CLI::App& reader = command == nullptr ? app : *command;
  if (const std::string flag = unknown_flag(reader, arguments); !flag.empty()) {
    const std::string where = command == nullptr ? "" : command->get_name();
    return {"unknown_flag", "no flag " + flag, where,
            "a flag that shardplan " + where + (where.empty() ? "" : " ") + "--help lists",
            nearest_name(flag, flags_of(reader))};
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&failure) != nullptr) {
    const std::string what = first_line(failure.what()), flag = what.substr(0, what.find(':'));
    if (times_told(arguments, flag) > 1) return {"conflict", "told more than once", flag, "it once", ""};
    return {"missing_value", "no value", flag, "one value", ""};
  }
  const std::string where = command == nullptr ? "" : command->get_name();
  if (dynamic_cast<const CLI::RequiredError*>(&failure) != nullptr) {
    return {"missing_argument", first_line(failure.what()), where, "see shardplan " + where + " --help", ""};
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) != nullptr) {
    return {"unexpected_argument", first_line(failure.what()), where, "flags and their values only", ""};
  }
  return {"usage", first_line(failure.what()), command == nullptr ? "" : command->get_name(), "", ""};
}

}  // namespace shardplan::cli
