#include "realtime/service.h"

#include <algorithm>
#include <iterator>

#include "realtime/make_service.h"
#include "services/roster.h"

namespace timerbench {

std::span<const ServiceBackend> services() {
  static const auto all = []<class... Services>(TypeList<Services...>) {
    std::vector<ServiceBackend> made{make_service_backend<Services>()...};
    std::ranges::move(library_services(), std::back_inserter(made));
    return made;
  }(ServiceRoster{});
  return all;
}

std::vector<std::string_view> services_over(std::string_view queue) {
  std::vector<std::string_view> names;
  for (const ServiceBackend& service : services()) {
    if (service.traits.queue == queue) names.push_back(service.traits.name);
  }
  return names;
}

}  // namespace timerbench
