// Log wheels of other designs, which show what each idea of log_wheel is worth, and a control. They
// are in the program that the preset ablation builds, for the suite ablation.
#pragma once

#include "ablation/log_wheel_of_deadlines.h"
#include "ablation/one_store_with_reads.h"
#include "core/joined_name.h"
#include "core/type_list.h"
#include "queues/log_wheel.h"

namespace timerbench {

// log_wheel_256 with another choice in its design.
template <FixedString Change, LogDesign kDesign>
struct ChangedLogWheel : LogWheel<256, kDesign> {
  static constexpr Traits traits = [] {
    Traits traits = LogWheel<256>::traits;
    traits.name = JoinedName<LiteralPart<"log_wheel_256">, LiteralPart<Change>>::view;
    return traits;
  }();
  using LogWheel<256, kDesign>::LogWheel;
};

using AblationRoster = TypeList<  //
    OneStoreWithReads, LogWheel<64>, LogWheel<1024>, LogWheel<4096>,
    ChangedLogWheel<"without_fetching", LogDesign{.chunks_ahead = 0}>,
    ChangedLogWheel<"without_lazy_moves", LogDesign{.leaves_the_entry = false}>,
    ChangedLogWheel<"without_cascading_ahead", LogDesign{.at_once = ~std::size_t{0}}>,
    ChangedLogWheel<"with_64_byte_chunks", LogDesign{.lines = 1, .chunks_ahead = 8}>,
    ChangedLogWheel<"with_128_byte_chunks", LogDesign{.lines = 2, .chunks_ahead = 4}>,
    ChangedLogWheel<"with_1024_byte_chunks", LogDesign{.lines = 16, .chunks_ahead = 1}>,
    LogWheelOfDeadlines>;

}  // namespace timerbench
