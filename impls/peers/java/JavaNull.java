/**
 * A control: the loop over the operations, which calls a structure that does nothing.
 *
 * <p>What it costs is in the figures of all others of this runtime.
 */
final class JavaNull extends Timers {
  @Override
  void arm(int id, long deadline) {}

  @Override
  boolean cancel(int id) {
    return false;
  }

  @Override
  void fireDue(Fires fires) {}

  @Override
  int pending() {
    return 0;
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About("java_null", "a control: does nothing", "none", false),
        (capacity, granularity) -> new JavaNull());
  }
}
