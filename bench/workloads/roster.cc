// The workloads. A new one is a header and a line here.
#include "workloads/arrivals.h"
#include "workloads/bulk.h"
#include "workloads/cache_ttl.h"
#include "workloads/cancel.h"
#include "workloads/churn.h"
#include "workloads/database.h"
#include "workloads/drain.h"
#include "workloads/fill.h"
#include "workloads/herd.h"
#include "workloads/herds.h"
#include "workloads/hold.h"
#include "workloads/idle_connections.h"
#include "workloads/jobs.h"
#include "workloads/keepalive.h"
#include "workloads/leases.h"
#include "workloads/lifetime.h"
#include "workloads/moved_earlier.h"
#include "workloads/orders.h"
#include "workloads/pacing.h"
#include "workloads/requests.h"
#include "workloads/session.h"
#include "workloads/sparse.h"
#include "workloads/tcp.h"
#include "workloads/workload.h"

namespace timerbench {
namespace {

template <Generator G>
G configured(const Settings& settings) {
  G generator;
  apply(settings, G::name, generator.parameters());
  return generator;
}

template <Generator G>
Workload workload(TimerId default_size) {
  Workload result{.name = G::name,
                  .summary = G::summary,
                  .item = G::item,
                  .items_are_free = G::items_are_free,
                  .default_size = default_size,
                  .parameters = {},
                  .check = [](const Settings& settings) { configured<G>(settings); },
                  .generate =
                      [](const WorkloadOptions& options) {
                        return configured<G>(options.settings).generate(options);
                      }};
  G generator;
  for (const Parameter& one : generator.parameters()) {
    result.parameters.push_back({one.name(), one.meaning(), one.text()});
  }
  return result;
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
      // time-outs: nearly all cancelled or moved
      workload<Requests>(100'000),         //
      workload<PurgatoryLow>(100'000),     //
      workload<PurgatoryHigh>(100'000),    //
      workload<ReadTimeouts>(65'536),      //
      workload<Database>(100'000),         //
      workload<Tcp>(100'000),              //
      workload<IdleConnections>(100'000),  //
      workload<Leases>(100'000),           //
      workload<CacheTtl>(100'000),         //
      workload<Orders>(100'000),           //
      workload<Session>(100'000),          //
      workload<MovedEarlier>(50'000),      //
      // events: nearly all fire
      workload<Pacing>(100'000),    //
      workload<Jobs>(1'000'000),    //
      workload<Lifetime>(100'000),  //
      workload<Herds>(100'000),     //
      workload<Sparse>(100'000),    //
      workload<Arrivals>(1'000),    //
      workload<Herd>(100'000),      //
  };
  return roster;
}

}  // namespace timerbench
