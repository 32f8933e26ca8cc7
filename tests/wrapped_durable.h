// Durable queues around others, to break a rule each.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "durable/engine.h"

namespace timerbench {

// Passes all calls on.
class Wrapped : public DurableQueue {
 public:
  explicit Wrapped(std::unique_ptr<DurableQueue> queue) : queue_(std::move(queue)) {}

  void schedule(std::span<const DurableTimer> timers) override { queue_->schedule(timers); }
  void post(std::span<const DurableTimer> timers) override { queue_->post(timers); }
  bool cancel(DurableId id) override { return queue_->cancel(id); }
  Claims claim(std::size_t most, Tick lease) override { return queue_->claim(most, lease); }
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    return queue_->complete(claims);
  }
  void give_back(std::span<const ClaimedTimer> claims) override { queue_->give_back(claims); }
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override {
    return queue_->await_earlier(next_wakeup, longest);
  }
  std::size_t size() override { return queue_->size(); }

 protected:
  std::unique_ptr<DurableQueue> queue_;
};

struct FiresEarly : Wrapped {
  using Wrapped::Wrapped;
  static constexpr Tick kEarly = 200'000'000;  // more than a busy machine is late
  void schedule(std::span<const DurableTimer> timers) override {
    std::vector<DurableTimer> earlier(timers.begin(), timers.end());
    for (DurableTimer& timer : earlier) timer.deadline -= std::min(timer.deadline, kEarly);
    queue_->schedule(earlier);
  }
};

struct SaysThatAllWereHeld : Wrapped {
  using Wrapped::Wrapped;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    queue_->complete(claims);
    return std::vector<bool>(claims.size(), true);
  }
};

struct CompletesNothing : Wrapped {
  using Wrapped::Wrapped;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    return std::vector<bool>(claims.size(), true);
  }
};

// Wraps the queues of an engine.
class WrappedEngine : public DurableEngine {
 public:
  using Wrap = std::function<std::unique_ptr<DurableQueue>(std::unique_ptr<DurableQueue>)>;

  WrappedEngine(std::unique_ptr<DurableEngine> engine, Wrap wrap)
      : engine_(std::move(engine)), wrap_(std::move(wrap)) {}

  void restart() override { engine_->restart(); }
  void kill() override { engine_->kill(); }
  std::vector<EngineSwitch> switches() override { return engine_->switches(); }
  std::vector<std::filesystem::path> sockets() const override { return engine_->sockets(); }
  std::vector<std::filesystem::path> folders() const override { return engine_->folders(); }
  std::vector<std::string> nodes() override { return engine_->nodes(); }
  std::vector<std::string> masters() override { return engine_->masters(); }
  std::vector<pid_t> processes() override { return engine_->processes(); }
  bool is_restartable() const override { return engine_->is_restartable(); }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return wrap_(engine_->open(config));
  }

  const std::unique_ptr<DurableEngine> engine_;
  const Wrap wrap_;
};

inline const DurableContender& durable_contender(std::string_view name) {
  return *std::ranges::find(durable_roster(), name,
                            [](const DurableContender& one) { return one.traits.name; });
}

// Queue: derived from Wrapped. The default is a queue of our own in a file.
template <class Queue, class Engine = WrappedEngine>
DurableContender contender(std::string_view name = "journal_wheel_0") {
  const DurableContender& whole = durable_contender(name);
  return {.traits = whole.traits, .start = [&whole](const std::filesystem::path& folder) {
            return std::make_unique<Engine>(whole.start(folder),
                                            [](std::unique_ptr<DurableQueue> queue) {
                                              return std::make_unique<Queue>(std::move(queue));
                                            });
          }};
}

}  // namespace timerbench
