#include "system/kernel_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <system_error>

namespace timerbench {

namespace fs = std::filesystem;

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<std::string> field(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return std::nullopt;
}

std::optional<long long> number(const std::optional<std::string>& text) {
  long long value = 0;
  if (!text || !(std::istringstream(*text) >> value)) return std::nullopt;
  return value;
}

std::vector<std::pair<int, std::string>> of_each_processor(const fs::path& processors,
                                                           std::string_view file) {
  std::vector<std::pair<int, std::string>> lines;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(processors, error)) {
    const std::string name = entry.path().filename();
    const auto processor = name.starts_with("cpu") ? number(name.substr(3)) : std::nullopt;
    const auto line = processor ? first_line(entry.path() / file) : std::nullopt;
    if (line) lines.emplace_back(static_cast<int>(*processor), *line);
  }
  std::ranges::sort(lines);
  return lines;
}

std::set<int> processor_list(const std::optional<std::string>& text) {
  std::set<int> all;
  std::istringstream in(text.value_or(""));
  for (std::string range; std::getline(in, range, ',');) {
    int first = 0;
    int last = 0;
    const int parts = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (parts < 1) continue;
    for (int i = first; i <= (parts == 2 ? last : first); ++i) all.insert(i);
  }
  return all;
}

std::vector<fs::path> control_groups(const fs::path& root, std::string_view controller) {
  std::vector<fs::path> folders;
  std::ifstream in(root / "proc/self/cgroup");
  // Version 2 is "0::/a/b", version 1 "4:cpu,cpuacct:/a/b".
  std::string id, controllers, group;
  while (std::getline(in, id, ':') && std::getline(in, controllers, ':') &&
         std::getline(in, group)) {
    fs::path mount = root / "sys/fs/cgroup";
    if (!controllers.empty()) {
      if (fmt::format(",{},", controllers).find(fmt::format(",{},", controller)) ==
          std::string::npos) {
        continue;
      }
      mount /= controller;
    }
    for (fs::path part = fs::path(group).relative_path();; part = part.parent_path()) {
      folders.push_back(part.empty() ? mount : mount / part);
      if (part.empty()) break;
    }
  }
  return folders;
}

}  // namespace timerbench
