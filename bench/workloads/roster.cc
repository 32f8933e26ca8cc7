// The workloads. A new one is a header and a line here.
#include "workloads/arrivals.h"
#include "workloads/bulk.h"
#include "workloads/cancel.h"
#include "workloads/churn.h"
#include "workloads/drain.h"
#include "workloads/fill.h"
#include "workloads/herd.h"
#include "workloads/hold.h"
#include "workloads/keepalive.h"
#include "workloads/workload.h"

namespace timerbench {
namespace {

template <Generator G>
Workload workload(TimerId default_size) {
  return {G::name,      G::summary,
          G::item,      G::items_are_free,
          default_size, [](const WorkloadOptions& options) { return G{}.generate(options); }};
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> roster = {
      workload<Fill>(100'000),       //
      workload<Cancel>(100'000),     //
      workload<Drain>(100'000),      //
      workload<Churn>(100'000),      //
      workload<Hold>(100'000),       //
      workload<Keepalive>(100'000),  //
      workload<Bulk>(6'000'000),     //
      workload<Arrivals>(1'000),     //
      workload<Herd>(100'000),       //
  };
  return roster;
}

}  // namespace timerbench
