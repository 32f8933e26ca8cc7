// What keeps the timers of durable queues, and the list of all that there are.
//
// The idea of a queue is in one header: NAME_queue.h, with a .cc where it speaks a protocol. How its
// engine is started, killed and measured stands apart, in NAME_engine.h and NAME_server.h, for
// several queues share an engine, and a user's own server needs neither.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "durable/durable_queue.h"
#include "engines/users_url.h"

namespace timerbench {

// A state of a server in which it refuses some work, and which goes by.
struct EngineSwitch {
  std::string_view name;
  // Both throw BackendError.
  std::function<void()> on, off;
};

// A private server, or files in a folder. Queues are its clients.
class DurableEngine {
 public:
  DurableEngine() = default;
  DurableEngine(const DurableEngine&) = delete;
  DurableEngine& operator=(const DurableEngine&) = delete;
  virtual ~DurableEngine() = default;

  // A new client. Any process that was forked since the engine's start may open its own. Throws
  // BackendUnavailable, or std::invalid_argument if the queue's name is not as DurableConfig says.
  std::unique_ptr<DurableQueue> open(const DurableConfig& config);

  // Kills what keeps the timers, as by kill -9, and starts it again. Clients connect again with
  // their next call. An engine that is in its clients' processes dies with them, so there is
  // nothing to do. Throws DoesNotStartAgain, and BackendError if this machine is in the way.
  virtual void restart() {}

  // As by kill -9, until restart().
  virtual void kill() {}

  // What can be done to it. The names are those of bench/faults/faults.cc.
  virtual std::vector<EngineSwitch> switches() { return {}; }

  // The unix sockets that its clients connect to, if they do.
  virtual std::vector<std::filesystem::path> sockets() const { return {}; }

  // The addresses of 127.0.0.0/8 of its servers, if each has its own: of all, and of those that are
  // masters now, if they agree among themselves who is. Throws BackendError, also if they do not come
  // to agree.
  virtual std::vector<std::string> nodes() { return {}; }
  virtual std::vector<std::string> masters() { return {}; }

  // Where it keeps timers on disk, if it does.
  virtual std::vector<std::filesystem::path> folders() const { return {}; }

  // The parents of all its processes; none if it is in its clients, or not of this machine.
  virtual std::vector<pid_t> processes() { return {}; }

  // False for a server of the user's: restart() leaves it alone.
  virtual bool is_restartable() const { return true; }

 private:
  virtual std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) = 0;
};

struct DurableContender {
  DurableTraits traits;
  // Files are put into `folder`, which must exist and outlive the engine. Throws BackendUnavailable.
  std::function<std::unique_ptr<DurableEngine>(const std::filesystem::path& folder)> start;
  // The same engine with so many masters, of a cluster; empty: it has no such setting.
  std::function<DurableContender(std::size_t masters)> with_masters{};
  // Of the environment, which may name a server of the user's; nullptr: none does.
  const char* users_variable = nullptr;

  bool is_of_user() const {
    return users_variable != nullptr && users_url(users_variable) != nullptr;
  }
};

// All that this program was built with, in the order of the tables.
std::span<const DurableContender> durable_roster();

}  // namespace timerbench
