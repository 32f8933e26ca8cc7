// Google Benchmark's own flags and its result file. The flags are checked here because Google
// Benchmark accepts any value.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// Whether any flag starts with `prefix`.
bool any_begins(const std::vector<std::string>& flags, std::string_view prefix);

// The names of the flags: "--benchmark_out" and so on.
std::vector<std::string_view> benchmark_flag_names();

// Throws UsageError for a value with which Google Benchmark never ends or fails silently.
void check_benchmark_flags(const std::vector<std::string>& flags);

// Passes the flags to Google Benchmark. Throws UsageError for a flag that it does not know.
void initialize_benchmark(const std::vector<std::string>& flags);

// The file that --benchmark_out names. Google Benchmark writes it during the run, so it gets a
// temporary name until it is complete. A file that is not kept is removed.
class ResultFile {
 public:
  // Replaces the flag in `flags`, if given. Throws FileError if the file cannot be written.
  explicit ResultFile(std::vector<std::string>& flags);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  // Renames the complete file, with null for values that JSON cannot express. Throws
  // std::runtime_error if the file is incomplete, which Google Benchmark does not report.
  void keep() const;

  // Empty if no file is wanted.
  std::string path() const { return path_.string(); }

 private:
  std::string partial() const;

  bool is_json_;
  std::filesystem::path path_;
};

}  // namespace timerbench
