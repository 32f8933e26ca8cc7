// timerbench: one trace, every backend. `timerbench --help` lists the commands.
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include "commands/command_line.h"
#include "commands/errors.h"
#include "suites/suite.h"
#include "system/stop.h"
#include "workloads/parameters.h"

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

int run(int argc, char** argv) {
  try {
    return execute(argc, argv);
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const ParameterError& error) {
    return fail(kUsage, error.what());
  } catch (const SuiteError& error) {
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
}

}  // namespace
}  // namespace timerbench

int main(int argc, char** argv) {
  timerbench::handle_signals();
  const int code = timerbench::run(argc, argv);
  return timerbench::all_printed() || code != 0 ? code : timerbench::kFailure;
}
