// Reads the small files of /proc and /sys.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timerbench {

// The first line of a readable file that has one.
std::optional<std::string> first_line(const std::filesystem::path& file);

// The text after `key`, blanks and a colon on the first line that starts like that.
std::optional<std::string> field(const std::filesystem::path& file, std::string_view key);

// The whole number at the start of a text.
std::optional<long long> number(const std::optional<std::string>& text);

// The first line of each processor's `file`, by processor number. Processors without it are left
// out. REQUIRES: `processors` is a folder like /sys/devices/system/cpu.
std::vector<std::pair<int, std::string>> of_each_processor(const std::filesystem::path& processors,
                                                           std::string_view file);

// "0-2,5" is 0, 1, 2 and 5.
std::set<int> processor_list(const std::optional<std::string>& text);

// The folders of the control groups that bind this process: its groups in version 2 and in version
// 1 of `controller`, and all their parents up to the roots. Some may not exist, since a container
// sees only its own part. REQUIRES: `root` is "/", or a test's folder with /proc and /sys.
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                  std::string_view controller);

}  // namespace timerbench
