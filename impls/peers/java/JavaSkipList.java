import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * java.util.concurrent.ConcurrentSkipListMap, from the deadline and a number to the id.
 *
 * <p>What runs: the class of the JDK, a skip list without locks. The numbers make the keys
 * different. The ids are boxed, as the values of a Java map are.
 *
 * <p>Clock: deadlines are numbers, and the first is compared with the clock.
 *
 * <p>Cost: arm O(log n), two objects and the nodes of the map; cancel O(log n); fireDue O(1) a
 * timer. About 85 bytes a timer: key, id, node, a third of an index node, and the handle.
 *
 * <p>Follows: java.util.concurrent.ConcurrentSkipListMap of OpenJDK 17; Pugh 1990.
 */
final class JavaSkipList extends Timers {
  private record Key(long deadline, long number) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int order = Long.compare(deadline, other.deadline);
      return order != 0 ? order : Long.compare(number, other.number);
    }
  }

  private final ConcurrentSkipListMap<Key, Integer> map = new ConcurrentSkipListMap<>();
  private final Key[] handles;
  private long armed;

  JavaSkipList(int capacity) {
    handles = new Key[capacity];
  }

  @Override
  void arm(int id, long deadline) {
    cancel(id);
    handles[id] = new Key(deadline, armed++);
    map.put(handles[id], id);
  }

  @Override
  boolean cancel(int id) {
    if (handles[id] == null) return false;
    map.remove(handles[id]);
    handles[id] = null;
    return true;
  }

  @Override
  void fireDue(Fires fires) {
    for (Map.Entry<Key, Integer> first;
        (first = map.firstEntry()) != null && first.getKey().deadline <= now; ) {
      map.remove(first.getKey());
      int id = first.getValue();
      handles[id] = null;
      fires.add(now, id, first.getKey().deadline);
    }
  }

  @Override
  int pending() {
    return map.size();
  }

  public static void main(String[] words) throws Exception {
    Replay.main(
        words,
        new Replay.About(
            "java_skip_list", "ConcurrentSkipListMap by deadline and number", "exact", true),
        (capacity, granularity) -> new JavaSkipList(capacity));
  }
}
