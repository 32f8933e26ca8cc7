import java.time.Instant;
import java.util.Date;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** java.util.Timer, which ../jdk_timer.h describes. */
final class JdkTimer extends Timers {
  private static final int MILLISECOND = 1_000_000; // ns

  private final Timer timer = new Timer(true);
  private final Thread thread;
  private final TimerTask[] tasks; // the last of each id
  private final AtomicInteger cancelled = new AtomicInteger();

  JdkTimer(long service, int capacity, int threads) {
    super(service);
    tasks = new TimerTask[capacity];
    CompletableFuture<Thread> told = new CompletableFuture<>();
    timer.schedule(task(() -> told.complete(Thread.currentThread())), 0);
    thread = told.join();
  }

  private static TimerTask task(Runnable work) {
    return new TimerTask() {
      @Override
      public void run() {
        work.run();
      }
    };
  }

  @Override
  void arm(int id, long deadline) {
    disarm(id);
    tasks[id] = task(() -> mayBeDue(id));
    timer.schedule(tasks[id], onWallClock(deadline));
  }

  private static Date onWallClock(long deadline) {
    Instant now = Instant.now();
    long left = now.getNano() + Math.max(0, deadline - System.nanoTime());
    return new Date(now.getEpochSecond() * 1000 + (left + MILLISECOND - 1) / MILLISECOND);
  }

  @Override
  void disarm(int id) {
    if (tasks[id] == null || !tasks[id].cancel()) return;
    if (cancelled.incrementAndGet() % tasks.length == 0) timer.purge();
  }

  @Override
  void close() throws InterruptedException {
    timer.cancel();
    thread.join();
  }
}
