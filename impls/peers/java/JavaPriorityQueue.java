import java.util.PriorityQueue;

/**
 * java.util.PriorityQueue with lazy deletion, as java.util.Timer keeps its tasks.
 *
 * <p>What runs: the class of the JDK, a binary heap of references. A cancelled timer stays in it
 * until it surfaces, for remove(Object) looks at every element. When more than half are cancelled
 * they are removed with removeIf(), as one calls Timer.purge(); otherwise many that are moved
 * would fill the memory.
 *
 * <p>Clock: deadlines are numbers, and the first is compared with the clock.
 *
 * <p>Cannot: remove a timer, which keeps its object until then.
 *
 * <p>Cost: arm O(log n), a new object; cancel O(1); fireDue O(log n) a timer, cancelled ones too.
 * 32 bytes a timer, and 4 to 8 for its places in the heap and among the handles.
 *
 * <p>Follows: java.util.PriorityQueue and java.util.Timer of OpenJDK 17.
 */
final class JavaPriorityQueue extends Timers {
  private static final int LEAST_TO_PURGE = 100;

  private static final class Timer implements Comparable<Timer> {
    final int id;
    final long deadline;
    boolean cancelled;

    Timer(int id, long deadline) {
      this.id = id;
      this.deadline = deadline;
    }

    @Override
    public int compareTo(Timer other) {
      return Long.compare(deadline, other.deadline);
    }
  }

  private final PriorityQueue<Timer> queue = new PriorityQueue<>();
  private final Timer[] handles;
  private int cancelledInQueue;

  JavaPriorityQueue(int capacity) {
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
    Timer timer = handles[id];
    if (timer == null) return false;
    handles[id] = null;
    timer.cancelled = true;
    if (++cancelledInQueue * 2 > queue.size() && queue.size() >= LEAST_TO_PURGE) {
      queue.removeIf(one -> one.cancelled);
      cancelledInQueue = 0;
    }
    return true;
  }

  @Override
  void fireDue(Fires fires) {
    for (Timer first; (first = queue.peek()) != null && first.deadline <= now; ) {
      queue.poll();
      if (first.cancelled) {
        --cancelledInQueue;
      } else {
        handles[first.id] = null;
        fires.add(now, first.id, first.deadline);
      }
    }
  }

  @Override
  int pending() {
    return queue.size() - cancelledInQueue;
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About(
            "java_priority_queue", "PriorityQueue with lazy deletion", "exact", true),
        (capacity, granularity) -> new JavaPriorityQueue(capacity));
  }
}
