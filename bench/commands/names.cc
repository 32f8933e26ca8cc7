#include "commands/names.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "commands/errors.h"
#include "replay/family.h"
#include "system/machine.h"
#include "system/nearest.h"
#include "system/program.h"

namespace timerbench {

namespace fs = std::filesystem;

namespace {

bool is_meant(const Backend& backend, std::string_view name) {
  if (name == kProcesses) return backend.process != nullptr;
  if (name == kLibraries) return backend.traits.is_library && !backend.process;
  return is_called(backend.traits.name, name);
}

// "redis_always" is a setting of "redis".
bool is_meant(const DurableContender& queue, std::string_view name) {
  const std::string_view own = queue.traits.name;
  return name == kDurable || name == own || name == own.substr(0, own.rfind('_'));
}

bool is_meant(const ServiceBackend& service, std::string_view name) {
  if (name == kLibraries) return service.traits.is_library;
  return is_called(service.traits.name, name);
}

// "NettyWheel" is "netty_wheel".
std::string snake_case(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool is_capital = 'A' <= c && c <= 'Z';
    if (is_capital && !result.empty()) result += '_';
    result += is_capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

// Whether impls/peers has a program or a library of this name, or of the family of this name, as
// "libevent_loop_precise" is of libevent_loop.h; it may not be built.
bool is_peer(std::string_view name) {
  const std::string wanted = fmt::format("{}_", name);
  return std::ranges::any_of(
      fs::recursive_directory_iterator(installed_or("impls/peers", TIMERBENCH_PEERS_FOLDER)),
      [&](const auto& entry) {
        const std::string own_name = snake_case(entry.path().stem().string());
        const bool is_library = entry.path().extension() == ".h";
        return is_library ? wanted.starts_with(own_name + '_') : own_name == name;
      });
}

// For a name that nobody in this program has.
void refuse_if_peer(std::string_view name) {
  const bool is_family = name == kLibraries || name == kProcesses;
  if (!is_family && !is_peer(name)) return;
  throw UsageError(fmt::format(
      "this program has no {}: './scripts/setup --peers', then 'cmake --preset peers && "
      "cmake --build --preset peers --target timerbench' and build/peers/timerbench",
      is_family ? std::string(name) : fmt::format("'{}'", name)));
}

// The contenders of one kind, backends or services.
template <class Named>
struct Roster {
  std::string_view kind;
  std::span<const Named> all;
};

template <class Wanted, class... Others>
[[noreturn]] void reject(const std::string& name, const Roster<Wanted>& roster,
                         const Roster<Others>&... elsewhere) {
  const auto refuse_if_in = [&](const auto& other) {
    for (const auto& one : other.all) {
      if (!is_meant(one, name)) continue;
      throw UsageError(fmt::format("'{}' is a {}, but a {} is wanted. See 'timerbench list'", name,
                                   other.kind, roster.kind));
    }
  };
  (refuse_if_in(elsewhere), ...);
  refuse_if_peer(name);
  std::vector<std::string_view> known;
  for (const Wanted& one : roster.all) {
    known.insert(known.end(), {one.traits.name, family(one.traits.name)});
  }
  throw UsageError(unknown(roster.kind, name, known));
}

template <class Wanted, class... Others>
std::vector<const Wanted*> choose(const std::vector<std::string>& names,
                                  const Roster<Wanted>& roster,
                                  const Roster<Others>&... elsewhere) {
  std::vector<bool> chosen(roster.all.size(), names.empty());
  for (const std::string& name : names) {
    bool found = false;
    for (std::size_t i = 0; i < roster.all.size(); ++i) {
      if (is_meant(roster.all[i], name)) chosen[i] = found = true;
    }
    if (!found) reject(name, roster, elsewhere...);
  }
  std::vector<const Wanted*> result;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) result.push_back(&roster.all[i]);
  }
  return result;
}

Roster<Backend> backend_roster() { return {"backend", backends()}; }
Roster<ServiceBackend> service_roster() { return {"service", services()}; }
Roster<DurableContender> queue_roster() { return {"durable queue", durable_roster()}; }

}  // namespace

std::string unknown(std::string_view kind, std::string_view name,
                    const std::vector<std::string_view>& known) {
  const std::string hint = did_you_mean(name, known);
  return fmt::format("unknown {} '{}'{} See 'timerbench {}'", kind, name, hint.empty() ? "." : hint,
                     kind == "command" ? "--help" : "list");
}

std::vector<std::string> split(std::string_view list) {
  const std::string_view whole = list;
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma == 0) {
      throw UsageError(fmt::format("'{}': nothing stands before a comma", whole));
    }
    const std::string_view item = list.substr(0, comma);
    if (std::ranges::count(items, item) == 0) items.emplace_back(item);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

std::vector<const Backend*> find_backends(const std::vector<std::string>& names) {
  return choose(names, backend_roster(), service_roster(), queue_roster());
}

std::vector<const ServiceBackend*> find_services(const std::vector<std::string>& names) {
  return choose(names, service_roster(), backend_roster(), queue_roster());
}

std::vector<const DurableContender*> find_durable(const std::vector<std::string>& names) {
  return choose(names, queue_roster(), backend_roster(), service_roster());
}

Contenders find_contenders(const std::vector<std::string>& names) {
  if (names.empty()) return {find_backends({}), find_services({}), {}};
  std::vector<std::string> of_backends, of_services, of_queues;
  std::vector<std::string_view> known;
  for (const Backend& one : backends()) known.push_back(one.traits.name);
  for (const ServiceBackend& one : services()) known.push_back(one.traits.name);
  for (const DurableContender& one : durable_roster()) known.push_back(one.traits.name);
  for (const std::string& name : names) {
    bool is_known = false;
    const auto add_if_named = [&](const auto& roster, std::vector<std::string>& chosen) {
      if (!std::ranges::any_of(roster, [&](const auto& one) { return is_meant(one, name); }))
        return;
      chosen.push_back(name);
      is_known = true;
    };
    add_if_named(backends(), of_backends);
    add_if_named(services(), of_services);
    add_if_named(durable_roster(), of_queues);
    if (is_known) continue;
    refuse_if_peer(name);
    throw UsageError(unknown("backend, service or durable queue", name, known));
  }
  Contenders found;
  if (!of_backends.empty()) found.backends = find_backends(of_backends);
  if (!of_services.empty()) found.services = find_services(of_services);
  if (!of_queues.empty()) found.durable = find_durable(of_queues);
  return found;
}

const Backend& find_backend(const std::string& name) {
  const auto found = find_backends({name});
  const auto own =
      std::ranges::find(found, name, [](const Backend* backend) { return backend->traits.name; });
  if (own != found.end()) return **own;  // though a family may have this name, too
  if (found.size() > 1) {
    throw UsageError(fmt::format("backend '{}' has {} settings; name one, such as '{}'", name,
                                 found.size(), found.front()->traits.name));
  }
  return *found.front();
}

Settings parse_settings(const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError(fmt::format("--set: '{}' is not NAME=VALUE, such as timeout=30s", text));
    }
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return settings;
}

const Workload& find_workload(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    known.push_back(workload.name);
  }
  throw UsageError(unknown("workload", name, known));
}

std::vector<fs::path> suite_files() {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(installed_or("bench/suites", TIMERBENCH_SUITES))) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::optional<Suite> find_suite(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml")) return load_suite(name);
  for (const fs::path& file : suite_files()) {
    if (file.stem() == name) return load_suite(file);
  }
  return {};
}

Trace load_trace(const std::string& name) {
  Trace trace = Trace::load(name);
  require_memory(bytes_needed({.size = trace.info().capacity, .items = trace.ops().size()}), name);
  return trace;
}

}  // namespace timerbench
