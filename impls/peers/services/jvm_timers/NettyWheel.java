import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.concurrent.TimeUnit;

/** Netty's HashedWheelTimer, which ../netty_wheel.h describes. */
final class NettyWheel extends Timers {
  private final HashedWheelTimer timer;
  private final Timeout[] timeouts; // the last of each id

  NettyWheel(long service, int capacity, int tickInMilliseconds) {
    super(service);
    timeouts = new Timeout[capacity];
    timer =
        new HashedWheelTimer(
            Timers::daemon, tickInMilliseconds, TimeUnit.MILLISECONDS, 512, false);
    timer.start();
  }

  @Override
  void arm(int id, long deadline) {
    disarm(id);
    long delay = deadline - System.nanoTime();
    timeouts[id] = timer.newTimeout(due -> mayBeDue(id), delay, TimeUnit.NANOSECONDS);
  }

  @Override
  void disarm(int id) {
    if (timeouts[id] == null) return;
    timeouts[id].cancel();
    timeouts[id] = null;
  }

  @Override
  void close() {
    timer.stop();
  }
}
