#include "system/load.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace timerbench {
namespace {

// Ticks since the machine's start for each processor: all, and the idle ones.
struct Ticks {
  double all = 0;
  double idle = 0;
};

std::vector<Ticks> processor_ticks(const std::filesystem::path& root) {
  std::vector<Ticks> ticks;
  std::ifstream in(root / "proc/stat");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (!name.starts_with("cpu") || name == "cpu") continue;  // the line "cpu" is the sum
    // user nice system idle iowait irq softirq steal; the later columns are included in user.
    double column[8] = {};
    for (double& value : column) words >> value;
    ticks.push_back(
        {std::accumulate(std::begin(column), std::end(column), 0.0), column[3] + column[4]});
  }
  return ticks;
}

}  // namespace

std::optional<Load> watch_load(const std::filesystem::path& root,
                               const std::function<void()>& wait) {
  const std::vector<Ticks> before = processor_ticks(root);
  if (before.empty()) return std::nullopt;
  wait();
  const std::vector<Ticks> after = processor_ticks(root);
  std::optional<Load> load;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const double all = after[i].all - before[i].all;
    if (all <= 0) continue;
    if (!load) load.emplace();
    const double busy = std::clamp(1 - (after[i].idle - before[i].idle) / all, 0.0, 1.0);
    load->of_all += busy;
    load->of_busiest = std::max(load->of_busiest, busy);
  }
  return load;
}

}  // namespace timerbench
