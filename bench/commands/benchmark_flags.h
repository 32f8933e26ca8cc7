// Google Benchmark's own flags: checked, for it takes whatever it is given, and its result file
// kept.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// Whether a flag begins so.
bool any_begins(const std::vector<std::string>& flags, std::string_view prefix);

// "--benchmark_out" and so on.
std::vector<std::string_view> benchmark_flag_names();

// Throws UsageError for values with which Google Benchmark never ends, or fails without a word.
void check_benchmark_flags(const std::vector<std::string>& flags);

// Gives it the flags. Throws UsageError for what it does not know.
void initialize_benchmark(const std::vector<std::string>& flags);

// The file that --benchmark_out names. Google Benchmark writes it as it goes, so it is given
// another name until it is complete; whatever is not kept is removed.
class ResultFile {
 public:
  // Replaces the flag in `flags`, if it is there. Throws UsageError where nothing can be written.
  explicit ResultFile(std::vector<std::string>& flags);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  // Gives the complete file its name, with null for what JSON cannot tell. Throws std::runtime_error
  // if it is not complete, which Google Benchmark does not say.
  void keep() const;

  // Empty: no file is wanted.
  std::string path() const { return path_.string(); }

 private:
  std::string partial() const;

  bool is_json_;
  std::filesystem::path path_;
};

}  // namespace timerbench
