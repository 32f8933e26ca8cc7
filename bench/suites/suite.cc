#include "suites/suite.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "replay/backend.h"
#include "replay/family.h"
#include "system/nearest.h"

namespace timerbench {
namespace {

// A renamed key; an error about the old name suggests the new one.
constexpr std::pair<std::string_view, std::string_view> kRenamed{"repetitions", "rounds"};

// A table of the file; errors name the file.
class Table {
 public:
  Table(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  bool has(std::string_view key) const { return table_.contains(key); }

  // Throws if there are other keys.
  void allow_only(const std::vector<std::string_view>& known) const {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      fail(key.source(), fmt::format("unknown key '{}'{}", key.str(), hint(key.str(), known)));
    }
  }

  // The value of a required key.
  template <class T>
  T required(std::string_view key) const {
    if (!has(key)) fail(table_.source(), fmt::format("'{}' is missing", key));
    return *optional<T>(key);
  }

  template <class T>
  std::optional<T> optional(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    return convert<T>(*node, key);
  }

  // The values of all other keys, as text.
  Settings rest(const std::vector<std::string_view>& known) const {
    Settings settings;
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      settings.emplace_back(std::string(key.str()), text_of(node, key.str()));
    }
    return settings;
  }

  // Each table of an array of tables.
  std::vector<Table> tables(std::string_view key) const {
    std::vector<Table> result;
    const toml::node* node = table_.get(key);
    if (node == nullptr) return result;
    if (!node->is_array_of_tables()) fail(node->source(), fmt::format("write [[{}]]", key));
    for (const toml::node& element : *node->as_array()) {
      result.emplace_back(*element.as_table(), file_);
    }
    return result;
  }

  std::optional<Table> table(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    if (!node->is_table()) fail(node->source(), fmt::format("'{}' must be a table", key));
    return Table(*node->as_table(), file_);
  }

  [[noreturn]] void fail(const toml::source_region& where, std::string_view what) const {
    throw SuiteError(fmt::format("{}:{}: {}", file_, where.begin.line, what));
  }
  [[noreturn]] void fail(std::string_view key, std::string_view what) const {
    const toml::node* node = table_.get(key);
    fail(node != nullptr ? node->source() : table_.source(), what);
  }

 private:
  static std::string hint(std::string_view key, std::vector<std::string_view> known) {
    const auto [old_name, new_name] = kRenamed;
    if (key == old_name) return fmt::format("; it is called '{}' now", new_name);
    std::string all = fmt::format("; known are {}", fmt::join(known, ", "));
    known.push_back(old_name);
    const std::string_view found = nearest(key, known);
    if (found.empty()) return all;
    return fmt::format("; did you mean '{}'?", found == old_name ? new_name : found);
  }

  std::string text_of(const toml::node& node, std::string_view key) const {
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    fail(node.source(), fmt::format("'{}' must be a text or a number", key));
  }

  template <class T>
  T convert(const toml::node& node, std::string_view key) const {
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      if (!node.is_array()) fail(node.source(), fmt::format("'{}' must be a list", key));
      std::vector<std::string> texts;
      for (const toml::node& element : *node.as_array()) texts.push_back(text_of(element, key));
      return texts;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return text_of(node, key);
    } else {
      const auto value = node.value<double>();
      if (!value || !(*value >= 0 && *value <= 1e10) ||  // rejects nan, too
          (std::is_integral_v<T> && *value != static_cast<double>(static_cast<T>(*value)))) {
        fail(node.source(), fmt::format("'{}' must be a {} from 0 to 1e10", key,
                                        std::is_integral_v<T> ? "whole number" : "number"));
      }
      return static_cast<T>(*value);
    }
  }

  const toml::table& table_;
  std::string file_;
};

std::vector<TimerId> read_sizes(const Table& table) {
  std::vector<TimerId> sizes;
  for (const std::string& text :
       table.optional<std::vector<std::string>>("sizes").value_or(std::vector<std::string>{})) {
    try {
      sizes.push_back(parse_size(text));
    } catch (const ParameterError& error) {
      table.fail("sizes", error.what());
    }
  }
  return sizes;
}

const Workload& find(const Table& table, std::string_view key, const std::string& name) {
  std::vector<std::string_view> known;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    known.push_back(workload.name);
  }
  table.fail(key, fmt::format("unknown workload '{}'{}", name, did_you_mean(name, known)));
}

// Reads names of backends or families.
std::vector<std::string> read_backends(const Table& table) {
  auto names =
      table.optional<std::vector<std::string>>("backends").value_or(std::vector<std::string>{});
  std::vector<std::string_view> known{kLibraries, kProcesses};
  for (const Backend& one : backends()) {
    known.insert(known.end(), {one.traits.name, family(one.traits.name)});
  }
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    table.fail("backends", fmt::format("unknown backend '{}'{}", name, did_you_mean(name, known)));
  }
  return names;
}

Effort read_effort(const Table& table, Effort otherwise) {
  return {.items = table.optional<std::uint64_t>("items").value_or(otherwise.items),
          .replay_seconds =
              table.optional<double>("replay_seconds").value_or(otherwise.replay_seconds)};
}

SuiteWorkload read_workload(const Table& table) {
  const std::vector<std::string_view> own_keys{"name", "of", "sizes"};  // the others: parameters
  if (!table.has("name")) table.allow_only(own_keys);
  SuiteWorkload result{.name = table.required<std::string>("name"), .workload = nullptr};
  const auto of = table.optional<std::string>("of");
  result.workload = &find(table, of ? "of" : "name", of.value_or(result.name));
  result.sizes = read_sizes(table);
  result.settings = table.rest(own_keys);
  for (const auto& setting : result.settings) {
    try {
      result.workload->check({setting});
    } catch (const ParameterError& error) {
      table.fail(setting.first, error.what());
    }
  }
  return result;
}

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

}  // namespace

Suite load_suite(const std::filesystem::path& file) try {
  if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file)) {
    throw SuiteError(fmt::format("{}: it is not a regular file", file.string()));
  }
  const toml::table content = toml::parse_file(file.string());
  const Table table(content, file.string());
  table.allow_only({"summary", "backends", "workloads", "workload", "sizes", "traces", "rounds",
                    "min_seconds", "items", "replay_seconds", "remote"});
  Suite suite{.name = file.stem().string(), .summary = table.required<std::string>("summary")};
  if (!is_name(suite.name)) {
    throw SuiteError(fmt::format(
        "{}: call the file after what it is, in the letters a-z, 0-9 and _", file.string()));
  }
  suite.backends = read_backends(table);
  suite.sizes = read_sizes(table);
  suite.traces = table.optional<std::vector<std::string>>("traces").value_or(suite.traces);
  suite.rounds = table.required<int>("rounds");
  suite.min_seconds = table.required<double>("min_seconds");
  suite.local = read_effort(table, {.items = 0, .replay_seconds = 60});
  suite.remote = suite.local;
  if (const auto remote = table.table("remote")) {
    remote->allow_only({"items", "replay_seconds"});
    suite.remote = read_effort(*remote, suite.local);
  }
  for (const std::string& name :
       table.optional<std::vector<std::string>>("workloads").value_or(std::vector<std::string>{})) {
    suite.workloads.push_back({.name = name, .workload = &find(table, "workloads", name)});
  }
  for (const Table& own : table.tables("workload")) {
    suite.workloads.push_back(read_workload(own));
    const std::string& name = suite.workloads.back().name;
    if (!is_name(name)) own.fail("name", fmt::format("'{}': a name is of a-z, 0-9 and _", name));
    if (std::ranges::count(suite.workloads, name, &SuiteWorkload::name) > 1) {
      own.fail("name", fmt::format("'{}' is there already", name));
    }
  }
  if (suite.rounds < 1) table.fail("rounds", "at least 1 is needed");
  if (suite.workloads.empty() && suite.traces.empty()) {
    throw SuiteError(fmt::format("{}: has neither workloads nor traces", file.string()));
  }
  if (!suite.workloads.empty() && suite.sizes.empty() &&
      std::ranges::any_of(suite.workloads, [](const auto& one) { return one.sizes.empty(); })) {
    throw SuiteError(fmt::format("{}: 'sizes' is missing", file.string()));
  }
  return suite;
} catch (const toml::parse_error& error) {
  const auto line = error.source().begin.line;
  throw SuiteError(line == 0
                       ? fmt::format("cannot read {}: give a suite's name, see timerbench list, "
                                     "or a file as bench/suites/quick.toml",
                                     file.string())
                       : fmt::format("{}:{}: {}", file.string(), line, error.description()));
}

}  // namespace timerbench
