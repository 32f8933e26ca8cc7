// A loopback network of this process and its children, in which some addresses cannot reach others.
//
// It is a network namespace: nobody else sees it, nothing outside can be reached from it, and it is
// gone when they have ended. A packet that is stopped is dropped without a word, as in a cable that
// was cut; so connections seem to stand.
//
// Needs root, and ip (iproute2).
#pragma once

#include <string>
#include <vector>

namespace timerbench {

class OwnNetwork {
 public:
  // Why this process cannot have one; empty if it can.
  static std::string unavailable();

  // Throws BackendUnavailable. The process is in it until its end. REQUIRES: this process has one
  // thread.
  OwnNetwork();
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

  // Nothing passes between the address and the others, in either direction, and again. Addresses
  // are of 127.0.0.0/8; who is to be stopped must send from its own (bind).
  void part(const std::string& address, const std::vector<std::string>& others) const {
    rule("add", address, others);
  }
  void heal(const std::string& address, const std::vector<std::string>& others) const {
    rule("del", address, others);
  }

 private:
  static void rule(const char* change, const std::string& address,
                   const std::vector<std::string>& others);

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
