import io.netty.util.HashedWheelTimer;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.Queue;

/**
 * The worker of a HashedWheelTimer, which is private and would sleep in a thread of its own. Its
 * methods are called by their names; a version of Netty that has other ones is refused.
 */
final class NettyWorker {
  private static final MethodHandle PROCESS_CANCELLED = method("Worker", "processCancelledTasks");
  private static final MethodHandle TRANSFER = method("Worker", "transferTimeoutsToBuckets");
  private static final MethodHandle EXPIRE =
      method("HashedWheelBucket", "expireTimeouts", long.class);
  private static final MethodHandle SET_TICK;

  static {
    try {
      Field tick = nested("Worker").getDeclaredField("tick");
      tick.setAccessible(true);
      SET_TICK = MethodHandles.lookup().unreflectSetter(tick).asType(
          MethodType.methodType(void.class, Object.class, long.class));
    } catch (ReflectiveOperationException error) {
      throw unexpected(error);
    }
  }

  private final Object worker;
  private final Object[] buckets;
  private final Queue<?> queued;
  private long tick; // the worker's own: how many have ended

  /** Takes the place of the thread, which will never start. */
  NettyWorker(HashedWheelTimer timer, long startTime) {
    try {
      field("workerState").setInt(timer, HashedWheelTimer.WORKER_STATE_STARTED);
      field("startTime").setLong(timer, startTime);
      worker = field("worker").get(timer);
      buckets = (Object[]) field("wheel").get(timer);
      queued = (Queue<?>) field("timeouts").get(timer);
    } catch (ReflectiveOperationException error) {
      throw unexpected(error);
    }
  }

  long tick() {
    return tick;
  }

  /** REQUIRES: no timer is pending. */
  void skipTo(long tick) {
    try {
      SET_TICK.invokeExact(worker, tick);
      this.tick = tick;
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  /** Does what the worker does when a tick ends, which is at `now`. */
  void endTick(long now) {
    try {
      PROCESS_CANCELLED.invokeExact(worker);
      do {
        TRANSFER.invokeExact(worker);
      } while (!queued.isEmpty());
      EXPIRE.invokeExact(buckets[(int) (tick & (buckets.length - 1))], now);
      skipTo(tick + 1);
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  private static Error unexpected(ReflectiveOperationException error) {
    return Replay.unexpected("Netty 4.1.48", error);
  }

  private static Class<?> nested(String name) throws ClassNotFoundException {
    return Class.forName(HashedWheelTimer.class.getName() + "$" + name);
  }

  private static Field field(String name) throws NoSuchFieldException {
    Field field = HashedWheelTimer.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /** Returns a method whose object is an Object. */
  private static MethodHandle method(String owner, String name, Class<?>... parameters) {
    try {
      var method = nested(owner).getDeclaredMethod(name, parameters);
      method.setAccessible(true);
      MethodHandle handle = MethodHandles.lookup().unreflect(method);
      return handle.asType(handle.type().changeParameterType(0, Object.class));
    } catch (ReflectiveOperationException error) {
      throw unexpected(error);
    }
  }
}
