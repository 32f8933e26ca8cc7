#include "suites/realtime_suite.h"

namespace timerbench {

const std::vector<RealtimeSuite>& realtime_suites() {
  static const std::vector<RealtimeSuite> all = {accuracy_suite(), contention_suite(),
                                                 purgatory_suite()};
  return all;
}

const std::vector<DurableSuite>& durable_suites() {
  static const std::vector<DurableSuite> all = {durable_suite(), faults_suite()};
  return all;
}

}  // namespace timerbench
