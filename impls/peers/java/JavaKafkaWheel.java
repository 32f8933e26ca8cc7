import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Kafka's timing wheels, with a DelayQueue of buckets, written from the description of its
 * SystemTimer.
 *
 * <p>What runs: nothing of Kafka, which no package of Debian has. The same structure: 20 buckets
 * a level, each a doubly linked list with a lock; a level above is made when a deadline first
 * needs it; a bucket with timers waits in a java.util.concurrent.DelayQueue; when it expires, the
 * clock of the wheels moves to its instant, and its timers are put in again, which fires them or
 * lands them below. Arming makes a task and an entry, as Kafka does, and each task, entry and
 * bucket has its lock.
 *
 * <p>Clock: getDelay() of a bucket is its instant less the virtual clock.
 *
 * <p>Deviates: the lock that SystemTimer takes around all, and the executor that runs tasks, are
 * left out. Kafka runs a task that is due when it is added at once; here it waits for the next
 * fireDue(), for operations do not fire.
 *
 * <p>Cannot: keep to deadlines within a granule. It rounds them down, and so fires early.
 *
 * <p>Cost: arm O(levels), two objects; cancel O(1); fireDue O(1) a timer and level that it came
 * down, O(log b) a bucket, of b that wait. 68 bytes a timer.
 *
 * <p>Follows: Kafka's SystemTimer, TimingWheel and TimerTaskList; Varghese & Lauck 1987, scheme
 * 7.
 */
final class JavaKafkaWheel extends Timers {
  private static final int BUCKETS = 20;

  private static final class Task {
    final int id;
    final long deadline;
    private Entry entry; // null: not pending

    Task(int id, long deadline) {
      this.id = id;
      this.deadline = deadline;
    }

    synchronized Entry entry() {
      return entry;
    }

    synchronized void setEntry(Entry entry) {
      this.entry = entry;
    }
  }

  /** A task's place in a bucket. */
  private static final class Entry {
    final Task task;
    Bucket bucket;
    Entry next;
    Entry previous;

    Entry(Task task) {
      this.task = task;
    }
  }

  /** A circle of entries around a root. */
  private final class Bucket implements Delayed {
    private final Entry root = new Entry(null);
    private final AtomicLong instant = new AtomicLong(-1); // -1: not in the queue

    Bucket() {
      root.next = root;
      root.previous = root;
    }

    synchronized void add(Entry entry) {
      synchronized (entry) {
        entry.bucket = this;
        entry.previous = root.previous;
        entry.next = root;
        root.previous.next = entry;
        root.previous = entry;
        size.incrementAndGet();
      }
    }

    synchronized void remove(Entry entry) {
      synchronized (entry) {
        entry.next.previous = entry.previous;
        entry.previous.next = entry.next;
        entry.next = null;
        entry.previous = null;
        entry.bucket = null;
        size.decrementAndGet();
      }
    }

    /** Takes all entries out, and hands each on. */
    synchronized void flush(Consumer<Entry> consumer) {
      while (root.next != root) {
        Entry first = root.next;
        remove(first);
        consumer.accept(first);
      }
      instant.set(-1);
    }

    @Override
    public long getDelay(TimeUnit unit) {
      return unit.convert(Math.max(0, instant.get() - now), TimeUnit.NANOSECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
      return Long.compare(instant.get(), ((Bucket) other).instant.get());
    }
  }

  private final class Wheel {
    private final long tick; // what a bucket spans
    private final long interval; // what all span
    private final Bucket[] buckets = new Bucket[BUCKETS];
    private long clock; // a multiple of the tick
    private Wheel above;

    Wheel(long tick, long clock) {
      this.tick = tick;
      this.clock = clock - clock % tick;
      interval = tick * BUCKETS;
      for (int i = 0; i < BUCKETS; ++i) buckets[i] = new Bucket();
    }

    /** Returns false if the entry is due. */
    boolean add(Entry entry) {
      long deadline = entry.task.deadline;
      if (deadline < clock + tick) return false;
      if (deadline >= clock + interval) {
        if (above == null) above = new Wheel(interval, clock);
        return above.add(entry);
      }
      long position = deadline / tick;
      Bucket bucket = buckets[(int) (position % BUCKETS)];
      bucket.add(entry);
      if (bucket.instant.getAndSet(position * tick) != position * tick) expiring.offer(bucket);
      return true;
    }

    void advance(long to) {
      if (to < clock + tick) return;
      clock = to - to % tick;
      if (above != null) above.advance(clock);
    }
  }

  private final DelayQueue<Bucket> expiring = new DelayQueue<>();
  private final Task[] handles;
  private final Wheel wheel;
  private final Bucket overdue = new Bucket(); // due when they were armed; never in the queue
  private final AtomicInteger size = new AtomicInteger(); // entries in buckets

  JavaKafkaWheel(int capacity, long granularity) {
    handles = new Task[capacity];
    wheel = new Wheel(granularity, 0);
  }

  @Override
  void arm(int id, long deadline) {
    cancel(id);
    Task task = new Task(id, deadline);
    handles[id] = task;
    Entry entry = new Entry(task);
    task.setEntry(entry);
    if (!wheel.add(entry)) overdue.add(entry);
  }

  @Override
  boolean cancel(int id) {
    Task task = handles[id];
    if (task == null) return false;
    Entry entry = task.entry();
    entry.bucket.remove(entry);
    task.setEntry(null);
    handles[id] = null;
    return true;
  }

  @Override
  void fireDue(Fires fires) {
    overdue.flush(entry -> fire(entry.task, fires));
    for (Bucket bucket; (bucket = expiring.poll()) != null; ) {
      wheel.advance(bucket.instant.get());
      bucket.flush(
          entry -> {
            if (!wheel.add(entry)) fire(entry.task, fires);
          });
    }
  }

  private void fire(Task task, Fires fires) {
    task.setEntry(null);
    handles[task.id] = null;
    fires.add(now, task.id, task.deadline);
  }

  @Override
  int pending() {
    return size.get();
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About(
            "java_kafka_wheel",
            "timing wheels of 20 buckets in a DelayQueue, rounds down",
            "early",
            true),
        JavaKafkaWheel::new);
  }
}
