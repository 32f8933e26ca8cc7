import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/** DelayQueue and threads that take from it, which ../jdk_delay_queue.h describes. */
final class JdkDelayQueue extends Timers {
  private static final class Element implements Delayed {
    final int id;
    final long deadline;
    volatile boolean isTaken; // then remove() would look at all others

    Element(int id, long deadline) {
      this.id = id;
      this.deadline = deadline;
    }

    @Override
    public long getDelay(TimeUnit unit) {
      return unit.convert(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
      return Long.compare(deadline, ((Element) other).deadline);
    }
  }

  private final DelayQueue<Element> queue = new DelayQueue<>();
  private final Element[] elements; // the last of each id
  private final Thread[] takers;

  JdkDelayQueue(long service, int capacity, int threads) {
    super(service);
    elements = new Element[capacity];
    takers = new Thread[threads];
    for (int i = 0; i < threads; ++i) {
      takers[i] = daemon(this::take);
      takers[i].start();
    }
  }

  private void take() {
    try {
      for (; ; ) {
        Element taken = queue.take();
        taken.isTaken = true;
        mayBeDue(taken.id);
      }
    } catch (InterruptedException closed) {
      return;
    }
  }

  @Override
  void arm(int id, long deadline) {
    disarm(id);
    elements[id] = new Element(id, deadline);
    queue.add(elements[id]);
  }

  @Override
  void disarm(int id) {
    if (elements[id] == null) return;
    if (!elements[id].isTaken) queue.remove(elements[id]);
    elements[id] = null;
  }

  @Override
  void close() throws InterruptedException {
    for (Thread taker : takers) taker.interrupt();
    for (Thread taker : takers) taker.join();
  }
}
