#include "commands/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <span>

#include "commands/errors.h"
#include "system/machine.h"

namespace timerbench {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// "ring_512" is of the family "ring"; a name without a number is a family of one.
std::string_view family(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  return end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
}

// Of things whose traits name them.
template <class Named>
std::vector<const Named*> choose(std::string_view kind, std::span<const Named> all,
                                 const std::vector<std::string>& names) {
  std::vector<bool> chosen(all.size(), names.empty());
  for (const std::string& name : names) {
    bool found = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string_view candidate = all[i].traits.name;
      if (candidate != name && family(candidate) != name) continue;
      chosen[i] = found = true;
    }
    if (found) continue;
    std::vector<std::string_view> known;
    for (const Named& one : all) {
      known.insert(known.end(), {one.traits.name, family(one.traits.name)});
    }
    throw UsageError(unknown(kind, name, known));
  }
  std::vector<const Named*> result;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) result.push_back(&all[i]);
  }
  return result;
}

}  // namespace

std::string unknown(std::string_view kind, std::string_view name,
                    const std::vector<std::string_view>& known) {
  const auto nearest = std::min_element(known.begin(), known.end(), [&](auto a, auto b) {
    return edit_distance(a, name) < edit_distance(b, name);
  });
  return fmt::format("unknown {} '{}'; did you mean '{}'? See 'timerbench {}'", kind, name,
                     nearest == known.end() ? "" : *nearest, kind == "command" ? "--help" : "list");
}

std::vector<std::string> split(std::string_view list) {
  const std::string_view whole = list;
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma == 0) {
      throw UsageError(fmt::format("'{}': nothing stands before a comma", whole));
    }
    items.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

std::vector<const Backend*> find_backends(const std::vector<std::string>& names) {
  return choose("backend", backends(), names);
}

std::vector<const ServiceBackend*> find_services(const std::vector<std::string>& names) {
  return choose("service", services(), names);
}

const Backend& find_backend(const std::string& name) {
  const auto found = find_backends({name});
  if (found.size() > 1) {
    throw UsageError(fmt::format("backend '{}' has {} settings; name one, such as '{}'", name,
                                 found.size(), found.front()->traits.name));
  }
  return *found.front();
}

const Workload& find_workload(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    known.push_back(workload.name);
  }
  throw UsageError(unknown("workload", name, known));
}

Trace load_trace(const std::string& name) {
  Trace trace = Trace::load(name);
  require_memory(bytes_needed({.size = trace.info().capacity, .items = trace.ops().size()}), name);
  return trace;
}

TimerId parse_size(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest + 1 == end) {
    if (*rest == 'k')
      value *= 1e3, ++rest;
    else if (*rest == 'M')
      value *= 1e6, ++rest;
  }
  if (error != std::errc{} || rest != end || value < 1 || value > kMostIds ||
      value != static_cast<TimerId>(value)) {
    throw UsageError(fmt::format(
        "'{}' is not a size: give a whole number from 1 to 1e9, such as 1000, 10k or 1e6", text));
  }
  return static_cast<TimerId>(value);
}

}  // namespace timerbench
