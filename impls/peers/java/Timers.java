/** Timers named by ids, in virtual time. A structure is a subclass; it needs no lock. */
abstract class Timers {
  /** The clock. Replay moves it before it calls fireDue(). */
  long now;

  /** Arms the timer, or moves it if it is pending. */
  abstract void arm(int id, long deadline);

  /** Returns true if this prevented a fire. */
  abstract boolean cancel(int id);

  /** Fires all that is due. */
  abstract void fireDue(Fires fires);

  /** Returns how many timers are pending. It is asked once, at the end of a replay. */
  abstract int pending();

  /** Gives back what it holds beside memory. It is called last, and is not timed. */
  void close() {}

  /** What makes the structure anew for each replay. */
  interface Maker {
    Timers make(int capacity, long granularity);
  }
}
