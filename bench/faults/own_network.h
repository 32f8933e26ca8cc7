// A loopback network of this process and its children, in which some addresses cannot reach others.
//
// It is a network namespace: nobody else sees it, nothing outside can be reached from it, and it is
// gone when they have ended. Addresses are of 127.0.0.0/8. Who is to be stopped must send from its
// own (bind); all others send from kClient.
//
// Needs root, and ip and ss (iproute2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace timerbench {

class OwnNetwork {
 public:
  using Addresses = std::vector<std::string>;

  enum class Stop : std::uint8_t {
    drop,    // without a word, as in a cable that was cut; so connections seem to stand
    refuse,  // the sender is told that there is no way; what is connected sends again and again
  };

  static constexpr const char* kClient = "127.0.0.1";

  // Why this process cannot have one; empty if it can.
  static std::string unavailable();

  // Throws BackendUnavailable. The process is in it until this object's end. REQUIRES: this process
  // has one thread.
  OwnNetwork();
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

  // stop() stops all that the first send to the others; pass() ends that.
  void stop(const Addresses& from, const Addresses& to, Stop how) const {
    rule("add", from, to, how);
  }
  void pass(const Addresses& from, const Addresses& to, Stop how) const {
    rule("del", from, to, how);
  }

  // part() stops all between the address and the others, in both directions; heal() ends that.
  void part(const std::string& address, const Addresses& others) const {
    stop({address}, others, Stop::drop);
    stop(others, {address}, Stop::drop);
  }
  void heal(const std::string& address, const Addresses& others) const {
    pass({address}, others, Stop::drop);
    pass(others, {address}, Stop::drop);
  }

  // Ends the connections that the address has to servers at the others. Both ends are told, unless
  // what the servers send is stopped. Throws BackendUnavailable, also if the kernel cannot do it.
  void disconnect(const std::string& client, const Addresses& servers) const;

 private:
  static void rule(const char* change, const Addresses& from, const Addresses& to, Stop how);

  // The network that the process has had, to which it returns.
  class Return {
   public:
    Return();
    ~Return();
    Return(const Return&) = delete;
    Return& operator=(const Return&) = delete;

   private:
    const int network_;
  };

  const Return return_;
};

}  // namespace timerbench
