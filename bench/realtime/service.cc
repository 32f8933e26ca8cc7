#include "realtime/service.h"

#include "realtime/make_service.h"
#include "services/roster.h"

namespace timerbench {

std::span<const ServiceBackend> services() {
  static const auto all = []<class... Services>(TypeList<Services...>) {
    return std::vector<ServiceBackend>{make_service_backend<Services>()...};
  }(ServiceRoster{});
  return all;
}

}  // namespace timerbench
