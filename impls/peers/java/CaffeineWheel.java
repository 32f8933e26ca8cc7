import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.github.benmanes.caffeine.cache.RemovalCause;
import java.lang.reflect.Field;

/**
 * Caffeine's cache, whose entries expire after a time of their own: a hierarchical wheel.
 *
 * <p>What runs: the cache as programs use it. Arming is put(), cancelling is invalidate(),
 * fireDue() is cleanUp(), and what expires is told to a removal listener. So a timer costs a hash
 * table and the buffers of the cache as well. Its maintenance runs in each call, not in the pool
 * of threads of the runtime, so that all is done when the call returns.
 *
 * <p>Clock: a Ticker. The finest buckets of the wheel span 2^30 ns, and that is a granule here.
 *
 * <p>Deviates: moving a timer is invalidate() and put(), for Caffeine leaves an entry in its
 * bucket if its time changes by less than a second, and so may be late by one.
 *
 * <p>Cannot: fire at once what is due when it is armed, which waits for the next granule, nor
 * go past 2^60 ns, 36 years, for its wheel skips buckets there: expire() takes the number of a
 * bucket modulo 2^30. Such timers wait in Beside, and after 2^30 granules a new cache begins.
 *
 * <p>Cost: arm and cancel O(1), an entry of the hash table, a node, a task, a boxed id; fireDue
 * O(1) a timer and level that it came down. 150 bytes a timer.
 *
 * <p>Follows: com.github.benmanes.caffeine.cache.TimerWheel of Caffeine 2.6.2, libcaffeine-java;
 * Varghese & Lauck 1987, scheme 7.
 */
final class CaffeineWheel extends Timers {
  private static final int BUCKET_BITS = 30; // ns of a bucket
  private static final long WINDOW = (1L << 30) - 1; // granules that one cache counts

  static {
    try {
      Class<?> wheel = Class.forName("com.github.benmanes.caffeine.cache.TimerWheel");
      Field spans = wheel.getDeclaredField("SPANS");
      spans.setAccessible(true);
      long finest = ((long[]) spans.get(null))[0];
      if (finest != 1L << BUCKET_BITS) {
        throw unexpected("a bucket spans " + finest + " ns, and not 2^" + BUCKET_BITS + ",");
      }
    } catch (ReflectiveOperationException error) {
      throw unexpected(error);
    }
  }

  private static Error unexpected(Object found) {
    return Replay.unexpected("Caffeine 2.6.2", found);
  }

  private record Timer(int id, long deadline) {}

  /** An entry lives until its granule. */
  private final class UntilGranule implements Expiry<Integer, Timer> {
    @Override
    public long expireAfterCreate(Integer id, Timer timer, long clock) {
      return (granule(timer.deadline) - begin << BUCKET_BITS) - clock;
    }

    @Override
    public long expireAfterUpdate(Integer id, Timer timer, long clock, long rest) {
      return expireAfterCreate(id, timer, clock);
    }

    @Override
    public long expireAfterRead(Integer id, Timer timer, long clock, long rest) {
      return rest;
    }
  }

  private final long granularity;
  private final Timer[] handles;
  private final Beside beside;
  private Cache<Integer, Timer> cache = makeCache();
  private long begin; // of the cache, in granules
  private long clock; // granules since then
  private int size; // of the cache
  private Fires fires; // of the fireDue() that runs

  CaffeineWheel(int capacity, long granularity) {
    this.granularity = granularity;
    handles = new Timer[capacity];
    beside = new Beside(capacity);
  }

  private Cache<Integer, Timer> makeCache() {
    return Caffeine.newBuilder()
        .ticker(() -> clock << BUCKET_BITS)
        .executor(Runnable::run)
        .expireAfter(new UntilGranule())
        .removalListener(this::note)
        .build();
  }

  /** Called for each entry that is removed, for whatever cause. */
  private void note(Integer id, Timer timer, RemovalCause cause) {
    if (handles[id] != timer) return; // cancel() did it
    if (cause != RemovalCause.EXPIRED) throw new IllegalStateException("removed: " + cause);
    handles[id] = null;
    --size;
    fires.add(now, id, timer.deadline);
  }

  @Override
  void arm(int id, long deadline) {
    cancel(id);
    long granule = granule(deadline) - begin;
    if (granule <= clock || granule > WINDOW) {
      beside.arm(id, deadline);
    } else {
      ++size;
      handles[id] = new Timer(id, deadline);
      cache.put(id, handles[id]);
    }
  }

  @Override
  boolean cancel(int id) {
    if (handles[id] == null) return beside.cancel(id);
    handles[id] = null;
    --size;
    cache.invalidate(id);
    return true;
  }

  @Override
  void fireDue(Fires fires) {
    this.fires = fires;
    long last = now / granularity;
    clock = Math.min(last - begin, WINDOW);
    cache.cleanUp();
    if (last - begin > WINDOW) { // everything in the cache was due
      begin = last;
      clock = 0;
      cache = makeCache();
    }

    Beside.Timer first;
    while ((first = beside.poll(now)) != null) fires.add(now, first.id(), first.deadline());
    while ((first = beside.poll((begin + WINDOW) * granularity)) != null) {
      arm(first.id(), first.deadline());
    }
  }

  private long granule(long deadline) {
    return (deadline + granularity - 1) / granularity;
  }

  @Override
  int pending() {
    return size + beside.size();
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About(
            "caffeine_wheel",
            "a cache whose entries expire, hierarchical wheel",
            "granular",
            false),
        CaffeineWheel::new);
  }
}
