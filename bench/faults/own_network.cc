#include "faults/own_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/backend_error.h"
#include "faults/run_program.h"

namespace timerbench {
namespace {

constexpr const char* kPath = "/proc/self/ns/net";
constexpr const char* kInstall = "install it (apt-get install iproute2)";

// The kernel asks in the order of these numbers, and the first answer counts. Its own rule for local
// addresses has 0, so it is moved behind ours.
constexpr const char* kOurs = "100";
constexpr const char* kLocal = "32000";
constexpr const char* kTable = "200";  // of routes to nowhere
constexpr const char* kNowhere = "nowhere";

[[noreturn]] void fail() {
  throw BackendUnavailable(
      fmt::format("cannot make a network: {}; it needs root", std::strerror(errno)));
}

void ip(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "ip");
  run_program(arguments, kInstall);
}

// The error with which a child of this process fails to make one, or 0. Root in a container may
// lack the right.
int why_no_network() {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(unshare(CLONE_NEWNET) == 0 ? 0 : errno);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

}  // namespace

std::string OwnNetwork::unavailable() {
  if (geteuid() != 0) return "a network of its own needs root";
  static const int refusal = why_no_network();
  if (refusal != 0) return fmt::format("cannot make a network: {}", std::strerror(refusal));
  for (const char* program : {"ip", "ss"}) {
    if (!has_program(program))
      return fmt::format("{} is missing (apt-get install iproute2)", program);
  }
  return "";
}

OwnNetwork::Return::Return() : network_(open(kPath, O_RDONLY | O_CLOEXEC)) {
  if (network_ < 0) fail();
}

OwnNetwork::Return::~Return() {
  // Whoever stayed could reach nothing, and would not know why.
  if (setns(network_, CLONE_NEWNET) != 0) std::abort();
  close(network_);
}

OwnNetwork::OwnNetwork() {
  if (unshare(CLONE_NEWNET) != 0) fail();
  ip({"link", "set", "lo", "up"});
  // A bridge to nowhere: what is sent to it is gone. A rule that refuses would tell the sender.
  ip({"link", "add", kNowhere, "type", "bridge"});
  ip({"link", "set", kNowhere, "arp", "off", "up"});
  std::ofstream setting(fmt::format("/proc/sys/net/ipv4/conf/{}/route_localnet", kNowhere));
  if (!(setting << 1).flush()) fail();
  ip({"route", "add", "default", "dev", kNowhere, "table", kTable});
  ip({"rule", "add", "pref", kLocal, "lookup", "local"});
  ip({"rule", "del", "pref", "0"});
}

void OwnNetwork::rule(const char* change, const Addresses& from, const Addresses& to, Stop how) {
  for (const std::string& sender : from) {
    for (const std::string& receiver : to) {
      if (sender == receiver) continue;
      std::vector<std::string> rule{"rule", change, "pref", kOurs, "from", sender, "to", receiver};
      if (how == Stop::drop) {
        rule.insert(rule.end(), {"lookup", kTable});
      } else {
        rule.push_back("unreachable");
      }
      ip(rule);
    }
  }
}

void OwnNetwork::disconnect(const std::string& client, const Addresses& servers) const {
  const auto ss = [&](std::vector<std::string> what, const std::string& server) {
    what.insert(what.begin(), {"ss", "--no-header", "--tcp", "state", "established"});
    what.insert(what.end(), {"src", server, "dst", client});
    return run_program(what, kInstall);
  };
  for (const std::string& server : servers) {
    ss({"--kill"}, server);
    if (!ss({}, server).empty()) {
      throw BackendUnavailable("cannot end connections; the kernel needs CONFIG_INET_DIAG_DESTROY");
    }
  }
}

}  // namespace timerbench
