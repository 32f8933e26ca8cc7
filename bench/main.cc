// timerbench: one trace, every backend. `timerbench --help` lists the commands.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "commands/command.h"
#include "commands/names.h"
#include "replay/stop.h"

namespace timerbench {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

int fail(int code, std::string_view text) {
  std::fflush(stdout);
  fmt::print(stderr, "timerbench: {}\n", text);
  return code;
}

// CLI11 would only say that a subcommand is missing.
void check_command(const CLI::App& app, std::string_view name) {
  std::vector<std::string_view> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    if (known.back() == name) return;
  }
  if (!name.starts_with('-')) throw UsageError(unknown("command", name, known));
}

int run(int argc, char** argv) {
  CLI::App app("Comparative benchmark of timer queues: one trace, replayed by every backend.");
  app.name("timerbench");
  app.require_subcommand(1);
  app.set_version_flag("--version", TIMERBENCH_VERSION);
  add_list(app);
  add_run(app);
  add_verify(app);
  add_replay(app);
  add_trace(app);
  try {
    if (argc > 1) check_command(app, argv[1]);
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return fail(kUsage, fmt::format("{}; see 'timerbench --help'", error.what()));
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const CommandFailed&) {
    return kFailure;
  } catch (const std::bad_alloc&) {
    return fail(kFailure, "out of memory; choose a smaller size");
  } catch (const std::exception& error) {
    return fail(kFailure, error.what());
  }
  return 0;
}

}  // namespace
}  // namespace timerbench

int main(int argc, char** argv) {
  timerbench::stop_on_signals();
  return timerbench::run(argc, argv);
}
