// What the kernel tells in the small files of /proc and /sys.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timerbench {

// The first line of a file that can be read and has one.
std::optional<std::string> first_line(const std::filesystem::path& file);

// What follows `key`, blanks and a colon on the first line that begins so.
std::optional<std::string> field(const std::filesystem::path& file, std::string_view key);

// The whole number that a text begins with.
std::optional<long long> number(const std::optional<std::string>& text);

// The first line of `file` of each processor that has one, by the processor's number. REQUIRES:
// `processors` is a folder like /sys/devices/system/cpu.
std::vector<std::pair<int, std::string>> of_each_processor(const std::filesystem::path& processors,
                                                           std::string_view file);

// "0-2,5" is 0, 1, 2 and 5.
std::set<int> processor_list(const std::optional<std::string>& text);

// The folders of the control groups that bind this process: its own, in version 2 and in version 1
// of `controller`, and all that these are in, up to the roots. Some may not be there, as a container
// sees only its own part. REQUIRES: `root` is "/", or a folder with a /proc and a /sys as a test has.
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                  std::string_view controller);

}  // namespace timerbench
