import java.util.Comparator;
import java.util.TreeSet;

/**
 * The timers that a library cannot hold, beside it, in a TreeSet: those that are too far, and
 * those that are due when they are armed, if it would fire them late.
 */
final class Beside {
  record Timer(int id, long deadline) {}

  private final TreeSet<Timer> timers =
      new TreeSet<>(Comparator.comparingLong(Timer::deadline).thenComparingInt(Timer::id));
  private final Timer[] handles;

  Beside(int capacity) {
    handles = new Timer[capacity];
  }

  void arm(int id, long deadline) {
    handles[id] = new Timer(id, deadline);
    timers.add(handles[id]);
  }

  /** Returns true if the timer was here. */
  boolean cancel(int id) {
    if (handles[id] == null) return false;
    timers.remove(handles[id]);
    handles[id] = null;
    return true;
  }

  /** Takes the first timer if its deadline is not after `last`; otherwise returns null. */
  Timer poll(long last) {
    if (timers.isEmpty() || timers.first().deadline > last) return null;
    Timer first = timers.pollFirst();
    handles[first.id] = null;
    return first;
  }

  /** Returns the first deadline, or Long.MAX_VALUE. */
  long first() {
    return timers.isEmpty() ? Long.MAX_VALUE : timers.first().deadline;
  }

  int size() {
    return timers.size();
  }
}
