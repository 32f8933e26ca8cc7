/**
 * Timers of the JVM, which ../jvm_timers.h drives.
 *
 * <p>What is armed tells its id when it may be due. Whether it is, the caller decides, so a timer
 * that fires although its id was disarmed since does no harm.
 */
abstract class Timers {
  private static final int WARM_UP = 500_000_000; // ns

  private final long service; // 0: nobody is told

  Timers(long service) {
    this.service = service;
  }

  /**
   * Tells the id at the deadline, in System.nanoTime(), or a little later; no more at the one that
   * it was armed for before. Any thread may call this, but one at a time for each id.
   */
  abstract void arm(int id, long deadline);

  /** Tells the id no more, if possible. */
  abstract void disarm(int id);

  /** Ends the threads, and returns when they have ended. */
  abstract void close() throws InterruptedException;

  final void mayBeDue(int id) {
    if (service != 0) tell(service, id);
  }

  private static native void tell(long service, int id);

  /** A thread that does not keep the JVM alive. */
  static Thread daemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    return thread;
  }

  /** Uses timers until the JVM has compiled them, and closes them. */
  final void warmUp() throws InterruptedException {
    long end = System.nanoTime() + WARM_UP;
    for (int id = 0; System.nanoTime() < end; id ^= 1) {
      arm(id, Long.MAX_VALUE / 2);
      disarm(id);
      arm(id, System.nanoTime());
    }
    close();
  }
}
