// Costs as text: a table of an input's cells, cheapest first, and a sentence that names the
// cheapest. Backends of different precision are never compared, nor libraries with own code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

struct CostCell {
  std::string workload;
  std::uint64_t size;
  std::string backend;
  std::string_view ranking;      // of timer_queue.h: what it is ranked among
  std::string item{};            // the unit of the cost
  std::vector<double> rounds{};  // ns, one for each round; none: no figure
  std::string failure{};         // why there is no figure

  double median() const;
  double least() const;
  double greatest() const;
};

// A heading and a line for each cell, grouped by ranking, controls last. At most 80 columns,
// unless names are longer than those of the roster. REQUIRES: at least one cell, all of one input.
std::string cost_table(std::vector<CostCell> cells);

// "churn, 10⁵ timers, exact: lazy_heap 96.1 ns, 2.4 times cheaper than quad_heap": a line for each
// ranking, in the words and numbers of scripts/bench. Backends that may fire early and
// controls are not ranked. A backend ties with the cheapest if their rounds overlap. REQUIRES: as
// above.
std::string cheapest(const std::vector<CostCell>& cells);

}  // namespace timerbench
