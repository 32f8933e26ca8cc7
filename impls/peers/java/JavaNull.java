import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A control: the loop over the operations, which calls a structure that notes the last deadline.
 *
 * <p>What it costs is in the figures of all others of this runtime. The compiler must not leave the
 * store out, nor the loop with it; so it is opaque, which takes no more than a plain one.
 */
final class JavaNull extends Timers {
  private static final VarHandle LAST;

  static {
    try {
      LAST = MethodHandles.lookup().findVarHandle(JavaNull.class, "last", long.class);
    } catch (ReflectiveOperationException error) {
      throw new ExceptionInInitializerError(error);
    }
  }

  private long last;

  @Override
  void arm(int id, long deadline) {
    LAST.setOpaque(this, deadline);
  }

  @Override
  boolean cancel(int id) {
    LAST.setOpaque(this, 0);
    return false;
  }

  @Override
  void fireDue(Fires fires) {
    LAST.setOpaque(this, now);
  }

  @Override
  int pending() {
    return 0;
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About("java_null", "a control: notes the last deadline", "none", false),
        (capacity, granularity) -> new JavaNull());
  }
}
