#include "commands/processes.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "commands/errors.h"
#include "process/process_peer.h"
#include "replay/backend.h"
#include "system/program.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

// As the shell takes it as one word.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace

void add_built_processes() {
  std::error_code none;
  std::vector<fs::path> descriptions;
  for (const auto& entry : fs::directory_iterator(own_path().parent_path() / "processes", none)) {
    if (entry.path().extension() == ".json") descriptions.push_back(entry.path());
  }
  std::ranges::sort(descriptions);
  for (const fs::path& path : descriptions) {
    std::string text;
    std::ifstream file(path);
    std::getline(file, text);
    const std::string command = shell_word(fs::path(path).replace_extension().string());
    try {
      add_process(std::make_shared<const ProcessPeer>(command, text));
    } catch (const ProgramFailure& failure) {
      throw ProgramFailure(
          fmt::format("{}: {}; build it again, or remove it", path.string(), failure.what()));
    }
  }
}

std::vector<std::string> add_processes(const std::vector<std::string>& commands) {
  std::vector<std::string> names;
  for (const std::string& command : commands) {
    try {
      auto process = std::make_shared<const ProcessPeer>(command);
      names.emplace_back(process->traits().name);
      add_process(std::move(process));
    } catch (const ProgramFailure& failure) {
      throw UsageError(fmt::format("--process {}", failure.what()));
    }
  }
  return names;
}

}  // namespace timerbench
