#include "suites/cell_failure.h"

#include <fmt/core.h>

#include <new>
#include <system_error>

#include "core/backend_error.h"
#include "system/machine.h"
#include "system/stop.h"
#include "system/supervised_program.h"
#include "trace/trace.h"

namespace timerbench {

std::string current_failure() {
  try {
    throw;
  } catch (const CellFailure& failure) {
    return failure.what();
  } catch (const ProgramFailure& failure) {
    return failure.what();
  } catch (const OutOfMemory& error) {
    return fmt::format("oom: {}", error.what());
  } catch (const Interrupted&) {
    return "interrupted: the run was ended before this cell";
  } catch (const BackendUnavailable& error) {
    return fmt::format("unavailable: {}", error.what());
  } catch (const BackendLimit& error) {
    return fmt::format("limit: {}", error.what());
  } catch (const BackendError& error) {
    return fmt::format("error: {}", error.what());
  } catch (const TraceError& error) {
    return fmt::format("error: {}", error.what());
  } catch (const std::system_error& error) {  // as of fork(), when there are too many processes
    return fmt::format("error: {}", error.what());
  } catch (const std::bad_alloc&) {
    return "oom: the memory is used up; choose a smaller size";
  }
}

}  // namespace timerbench
