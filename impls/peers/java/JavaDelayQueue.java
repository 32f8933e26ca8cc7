import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/**
 * java.util.concurrent.DelayQueue, whose elements tell their delay by a clock of their own.
 *
 * <p>What runs: the class of the JDK with its lock, which nobody contends for. fireDue() is
 * poll() until nothing is due. Cancelling is remove(Object), which looks at every element.
 *
 * <p>Clock: getDelay() is the deadline less the virtual clock, a tick being a nanosecond.
 *
 * <p>Cannot: remove in less than O(n), as ScheduledThreadPoolExecutor's own queue can, which
 * takes nothing but its own tasks on System.nanoTime().
 *
 * <p>Cost: arm O(log n), a new object, and the lock; cancel O(n), and so is moving a pending
 * timer; fireDue O(log n) a timer. 32 bytes a timer, and 8 for its places in the heap and among
 * the handles.
 *
 * <p>Follows: java.util.concurrent.DelayQueue of OpenJDK 17.
 */
final class JavaDelayQueue extends Timers {
  private final class Timer implements Delayed {
    final int id;
    final long deadline;

    Timer(int id, long deadline) {
      this.id = id;
      this.deadline = deadline;
    }

    @Override
    public long getDelay(TimeUnit unit) {
      return unit.convert(deadline - now, TimeUnit.NANOSECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
      return Long.compare(deadline, ((Timer) other).deadline);
    }
  }

  private final DelayQueue<Timer> queue = new DelayQueue<>();
  private final Timer[] handles;

  JavaDelayQueue(int capacity) {
    handles = new Timer[capacity];
  }

  @Override
  void arm(int id, long deadline) {
    cancel(id);
    handles[id] = new Timer(id, deadline);
    queue.add(handles[id]);
  }

  @Override
  boolean cancel(int id) {
    if (handles[id] == null) return false;
    queue.remove(handles[id]);
    handles[id] = null;
    return true;
  }

  @Override
  void fireDue(Fires fires) {
    for (Timer due; (due = queue.poll()) != null; ) {
      handles[due.id] = null;
      fires.add(now, due.id, due.deadline);
    }
  }

  @Override
  int pending() {
    return queue.size();
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About(
            "java_delay_queue", "DelayQueue, which removes in O(n)", "exact", true),
        (capacity, granularity) -> new JavaDelayQueue(capacity));
  }
}
