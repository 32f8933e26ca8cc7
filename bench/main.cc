// timerbench: one trace, every backend. `timerbench --help` lists the commands.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "commands/command.h"
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
