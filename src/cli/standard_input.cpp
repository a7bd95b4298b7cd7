#include "cli/standard_input.h"

#include <iostream>

namespace shardplan::cli {

Result<std::string> standard_input(std::int64_t bytes_most, const std::string& where) {
  const std::string most = std::to_string(bytes_most);
  std::string text;
  char buffer[1 << 16];
  while (std::cin.read(buffer, sizeof buffer) || std::cin.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > static_cast<std::size_t>(bytes_most)) {
      return Error{"too_large", "standard input has more than " + most + " bytes", where,
                   "at most " + most + " bytes", ""};
    }
  }
  return text;
}

}  // namespace shardplan::cli
