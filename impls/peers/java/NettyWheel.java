import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.concurrent.TimeUnit;

/**
 * Netty's HashedWheelTimer: one wheel of 512 buckets, whose timers count the revolutions to come.
 *
 * <p>What runs: newTimeout() and cancel() as programs call them, which put the timer into a
 * queue, and the worker's own methods, in the order of its loop. Each tick it takes cancelled
 * timers out, moves queued ones to their buckets, and looks at each timer of one bucket. Only the
 * loop, which would sleep in a thread of its own, is written here (NettyWorker.java).
 *
 * <p>Clock: java.cmake makes a copy of the classes that calls VirtualNanoClock in place of
 * System. A tick of the wheel is a granule. Netty fires what falls into a tick when the tick
 * ends, so a timer is armed for a nanosecond before its granule: on the granule it would be late
 * by a tick.
 *
 * <p>Deviates: the worker moves at most 100 000 timers a tick. Here its method is called until
 * none is queued, for in virtual time more are armed at one instant.
 *
 * <p>Cannot: skip empty ticks, unless no timer is left, nor fire at once what is due when it is
 * armed. The latter, and timers of more than 2^20 ticks, wait in Beside.
 *
 * <p>Cost: arm O(1), two objects, and a place in the queue; cancel O(1), and the same; fireDue
 * O(n / 512) each tick that passes. 100 bytes a timer.
 *
 * <p>Follows: io.netty.util.HashedWheelTimer of Netty 4.1.48, libnetty-java; Varghese & Lauck
 * 1987, scheme 6.
 */
final class NettyWheel extends Timers {
  private static final long TICK = 1_000_000; // in ns, the shortest that Netty takes
  private static final long WINDOW = 1 << 20; // ticks ahead that the wheel holds

  private final class Task implements TimerTask {
    final int id;
    final long deadline;

    Task(int id, long deadline) {
      this.id = id;
      this.deadline = deadline;
    }

    @Override
    public void run(Timeout timeout) {
      handles[id] = null;
      --size;
      fires.add(now, id, deadline);
    }
  }

  private final long granularity;
  private final HashedWheelTimer timer;
  private final NettyWorker worker;
  private final Timeout[] handles;
  private final Beside beside;
  private int size; // of the wheel
  private Fires fires; // of the fireDue() that runs

  NettyWheel(int capacity, long granularity) {
    this.granularity = granularity;
    // Without a detector of leaks, which samples.
    timer = new HashedWheelTimer(Thread::new, 1, TimeUnit.MILLISECONDS, 512, false);
    worker = new NettyWorker(timer, 1); // 0 would be: not started
    VirtualNanoClock.now = 1;
    handles = new Timeout[capacity];
    beside = new Beside(capacity);
  }

  @Override
  void arm(int id, long deadline) {
    cancel(id);
    long ticks = granule(deadline) - worker.tick();
    if (ticks <= 0 || ticks > WINDOW) {
      beside.arm(id, deadline);
    } else {
      ++size;
      Task task = new Task(id, deadline);
      handles[id] = timer.newTimeout(task, ticks * TICK - 1, TimeUnit.NANOSECONDS);
    }
  }

  @Override
  boolean cancel(int id) {
    if (handles[id] == null) return beside.cancel(id);
    handles[id].cancel();
    handles[id] = null;
    --size;
    return true;
  }

  @Override
  void fireDue(Fires fires) {
    this.fires = fires;
    long last = now / granularity; // the tick that ends now
    while (worker.tick() < last && size > 0) worker.endTick((worker.tick() + 1) * TICK);
    if (worker.tick() < last) worker.skipTo(last);
    VirtualNanoClock.now = 1 + last * TICK;

    Beside.Timer first;
    while ((first = beside.poll(now)) != null) fires.add(now, first.id(), first.deadline());
    while ((first = beside.poll((last + WINDOW) * granularity)) != null) {
      arm(first.id(), first.deadline());
    }
  }

  /** The tick whose end is not before the deadline. */
  private long granule(long deadline) {
    return (deadline + granularity - 1) / granularity;
  }

  @Override
  int pending() {
    return size + beside.size();
  }

  @Override
  void close() {
    timer.stop();
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About(
            "netty_wheel",
            "HashedWheelTimer, one wheel of 512 buckets",
            "granular",
            false,
            true),
        NettyWheel::new);
  }
}
