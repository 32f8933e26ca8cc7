// Costs as text: the cells of an input cheapest first, and which is the cheapest, in a sentence.
// Backends of unlike precision are never compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

struct CostCell {
  std::string workload;
  std::uint64_t size;
  std::string backend;
  Precision precision;
  std::string item{};            // what the cost is of
  std::vector<double> rounds{};  // ns, one of each round; none: no figure
  std::string failure{};         // why not

  double median() const;
  double least() const;
  double greatest() const;
};

// A heading and a line for each cell, precision by precision, controls last. At most 80 columns, if
// names are not longer than those of the roster. REQUIRES: cells of one input, one at least.
std::string cost_table(std::vector<CostCell> cells);

// "churn, 10⁵ timers, exact: lazy_heap 96.1 ns, 2.4 times cheaper than quad_heap", a line for each
// precision that is ranked: those who may fire early and controls are not. Backends are tied with the
// cheapest if their rounds overlap with its rounds. The same requirement.
std::string cheapest(const std::vector<CostCell>& cells);

}  // namespace timerbench
