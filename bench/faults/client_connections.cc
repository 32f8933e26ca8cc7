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

void ClientConnections::break_them(Mode mode) {
  for (const auto& proxy : proxies_) proxy->set(mode);
  mode_ = mode;
  if (nodes_.empty()) return;
  if (mode == Mode::refuse) {
    network_->stop({OwnNetwork::kClient}, nodes_, Stop::refuse);
    network_->disconnect(OwnNetwork::kClient, nodes_);
  } else if (mode == Mode::swallow_answers) {
    network_->stop(nodes_, {OwnNetwork::kClient}, Stop::drop);
  } else if (mode == Mode::silence) {
    network_->part(OwnNetwork::kClient, nodes_);
  }
}

void ClientConnections::mend() {
  for (const auto& proxy : proxies_) proxy->set(Mode::pass);
  if (nodes_.empty()) return;
  if (mode_ == Mode::refuse) {
    network_->pass({OwnNetwork::kClient}, nodes_, Stop::refuse);
  } else if (mode_ == Mode::swallow_answers) {
    network_->pass(nodes_, {OwnNetwork::kClient}, Stop::drop);
  } else if (mode_ == Mode::silence) {
    network_->heal(OwnNetwork::kClient, nodes_);
  }
}

}  // namespace timerbench
