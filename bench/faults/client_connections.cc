#include "faults/client_connections.h"

#include <filesystem>

namespace timerbench {

using Mode = Proxy::Mode;
using Stop = OwnNetwork::Stop;

ClientConnections::ClientConnections(DurableEngine& engine, const OwnNetwork* network)
    : network_(network),
      nodes_(engine.sockets().empty() ? engine.nodes() : OwnNetwork::Addresses()) {
  for (const std::filesystem::path& socket : engine.sockets()) {
    proxies_.push_back(std::make_unique<Proxy>(socket));
  }
}

std::vector<ClientConnections::Way> ClientConnections::ways_to_stop(Mode mode) const {
  if (nodes_.empty()) return {};
  const OwnNetwork::Addresses clients{OwnNetwork::kClient};
  switch (mode) {
    case Mode::pass: break;
    case Mode::refuse: return {{clients, nodes_, Stop::refuse}};
    case Mode::swallow_answers: return {{nodes_, clients, Stop::drop}};
    case Mode::silence: return {{clients, nodes_, Stop::drop}, {nodes_, clients, Stop::drop}};
  }
  return {};
}

void ClientConnections::break_them(Mode mode) {
  for (const auto& proxy : proxies_) proxy->set(mode);
  stopped_ = ways_to_stop(mode);
  for (const Way& way : stopped_) network_->stop(way.from, way.to, way.how);
  if (mode == Mode::refuse && !nodes_.empty()) network_->disconnect(OwnNetwork::kClient, nodes_);
}

void ClientConnections::mend() {
  for (const auto& proxy : proxies_) proxy->set(Mode::pass);
  for (const Way& way : stopped_) network_->pass(way.from, way.to, way.how);
  stopped_.clear();
}

}  // namespace timerbench
