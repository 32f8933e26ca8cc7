/**
 * What the copy of Netty's classes that java.cmake makes calls in place of java.lang.System. The
 * name has as many letters, so that it can be put into a class file.
 */
public final class VirtualNanoClock {
  static long now; // in ns

  private VirtualNanoClock() {}

  public static long nanoTime() {
    return now;
  }
}
