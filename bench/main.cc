// timerbench: one trace, every backend. `timerbench --help` lists the commands.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <system_error>

#include "commands/command.h"
#include "commands/names.h"
#include "system/stop.h"

namespace timerbench {
namespace {

// One line, whatever names are in the text. Not fmt::print, which throws if stderr is closed.
int fail(int code, std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return 0 <= c && c < ' '; }, '?');
  std::fflush(stdout);
  std::fputs(fmt::format("timerbench: {}\n", text).c_str(), stderr);
  return code;
}

// Whether what was printed has arrived. Says why not, unless nobody reads it any more.
bool all_printed() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  if (!interrupted()) {
    fail(kFailure, fmt::format("not all could be printed: {}; is the disk full?",
                               errno != 0 ? std::strerror(errno) : "output error"));
  }
  return false;
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

// CLI11 would take the next argument for the value of `--sizes=`.
void check_not_empty(std::span<char* const> arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.empty()) {
      throw UsageError(
          fmt::format("the argument after '{}' is empty; name what you mean", arguments[i - 1]));
    }
    if (argument.starts_with("--") && argument.ends_with('=')) {
      throw UsageError(fmt::format("'{}' has no value; give it one or leave it out", argument));
    }
  }
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
    check_not_empty({argv, static_cast<std::size_t>(argc)});
    if (argc > 1) check_command(app, argv[1]);
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return fail(kUsage, fmt::format("{}; see --help", error.what()));
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const CommandFailed& failed) {
    return failed.code;
  } catch (const std::system_error& error) {
    // fmt's, if standard output takes no more: main() says so.
    return std::ferror(stdout) != 0 ? kFailure : fail(kFailure, error.what());
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
  timerbench::handle_signals();
  const int code = timerbench::run(argc, argv);
  return timerbench::all_printed() || code != 0 ? code : timerbench::kFailure;
}
