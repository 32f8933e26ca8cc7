import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** ScheduledThreadPoolExecutor, which ../jdk_scheduled_executor.h describes. */
final class JdkScheduledExecutor extends Timers {
  private final ScheduledThreadPoolExecutor executor;
  private final Future<?>[] futures; // the last of each id

  JdkScheduledExecutor(long service, int capacity, int threads) {
    super(service);
    futures = new Future<?>[capacity];
    executor = new ScheduledThreadPoolExecutor(threads, Timers::daemon);
    executor.setRemoveOnCancelPolicy(true);
    executor.prestartAllCoreThreads();
  }

  @Override
  void arm(int id, long deadline) {
    disarm(id);
    long delay = deadline - System.nanoTime();
    futures[id] = executor.schedule(() -> mayBeDue(id), delay, TimeUnit.NANOSECONDS);
  }

  @Override
  void disarm(int id) {
    if (futures[id] == null) return;
    futures[id].cancel(false);
    futures[id] = null;
  }

  @Override
  void close() throws InterruptedException {
    executor.shutdownNow();
    executor.awaitTermination(1, TimeUnit.DAYS);
  }
}
