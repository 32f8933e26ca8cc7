// A trace as text that people can write and read.
//
//   at,op,id,delay
//   0,schedule,7,30000      at 0 arm timer 7 for 30000
//   0,advance,,12           from 0 to 12, firing what is due
//   12,cancel,7,
//
// `at` is the clock when the operation is issued. Two short forms help to write it by hand: a row
// with a later `at` advances the clock first, and an advance without a delay goes to its own `at`.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "trace/trace.h"

namespace timerbench {

std::string to_csv(std::span<const Op> ops);

// import_csv() restores the same operations. The CSV holds no TraceInfo, so no setup_ops either.
// Throws FileError or Interrupted, and then leaves no file.
void export_csv(const Trace& trace, const std::filesystem::path& path);

// `unit_ns` is the length of a tick. Throws TraceError, with FILE:LINE, and Interrupted.
Trace import_csv(const std::filesystem::path& path, double unit_ns);

}  // namespace timerbench
