// A worker of a durable timer queue: it claims what is due, runs a handler for each timer, and
// completes it. This is the code to copy, or to use.
//
//   DurableWorker worker(queue, {.delivery = Delivery::at_least_once});
//   worker.run([](const DurableTimer& timer) { close_order(timer.id); }, is_over);
//
// What becomes of a timer whose worker dies, or loses the engine:
//
//   at_least_once  The handler runs, and then the timer is completed. A worker that dies between the
//                  two has done the work; another does it again. So the handler must bear that.
//   at_most_once   The timer is completed, and then the handler runs, if complete() says that this
//                  worker still held it. What a worker was about to do when it died, or when the
//                  answer to complete() was lost, is never done: up to `batch` timers.
//
// A handler that throws has failed for its timer. With at_least_once that timer stays claimed, so
// it is handed out again when its lease ends. The other timers of the batch are handled all the
// same; then the first exception is passed on.
//
// When the answer to complete() is lost, the next step asks for it again, before it claims more, until
// the lease has ended: then these timers are another worker's. With at_most_once a timer is not handled
// if the first call has completed it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "core/backend_error.h"
#include "durable/durable_queue.h"

namespace timerbench {

enum class Delivery : std::uint8_t { at_least_once, at_most_once };

class DurableWorker {
 public:
  struct Settings {
    Delivery delivery = Delivery::at_least_once;
    std::size_t batch = 100;  // timers of a claim
    // REQUIRES: longer than the handlers of a batch take, else others are handed its timers too.
    Tick lease = Tick{30} * 1'000'000'000;
    // How long run() waits at most when nothing is due, unless it is woken; not more than
    // kLongestAwait. And after an error.
    std::chrono::nanoseconds longest_sleep = std::chrono::nanoseconds(kLongestAwait);
    std::chrono::nanoseconds pause = std::chrono::milliseconds(100);
    // Each may be empty.
    std::function<void(const DurableTimer&)> on_claimed{};  // before all handlers
    std::function<void(DurableId)> on_completing{};         // complete() is about to be asked
    std::function<void(DurableId, bool was_held)> on_completed{};  // what complete() said
    std::function<void(const BackendError&)> on_error{};           // in run(); may throw
  };

  using Handler = std::function<void(const DurableTimer&)>;

  struct Step {
    std::size_t handled = 0;  // handlers that ran
    Tick look_again = 0;  // when something may be due next; 0: at once; kNever: nothing is known
  };

  // The queue outlives the worker, and nobody else uses it meanwhile.
  DurableWorker(DurableQueue& queue, Settings settings);

  // Claims, handles and completes once. Throws BackendError, and what the handler has thrown.
  Step step(const Handler& handler);

  // Steps until `is_over`, which is asked before each step, and waits when nothing is due. After a
  // BackendError of the queue it pauses and goes on; the queue connects again by itself. Throws what
  // the handler has thrown. REQUIRES: DurableConfig::now of the queue is unix_now().
  void run(const Handler& handler, const std::function<bool()>& is_over);

 private:
  // Leaves in `failure` what the handler has thrown first.
  Step step(const Handler& handler, std::exception_ptr& failure);

  DurableQueue& queue_;
  const Settings settings_;
  std::vector<ClaimedTimer> uncompleted_;               // complete() has not answered for them yet
  std::chrono::steady_clock::time_point lease_ends_{};  // of these
};

}  // namespace timerbench
