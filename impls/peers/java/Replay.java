import java.io.IOException;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The protocol of docs/processes.md, for any Timers. */
final class Replay {
  private static final int ADVANCE = -1; // an id
  private static final int CANCEL = -1; // an argument

  private Replay() {}

  /** What `describe` tells. */
  record About(
      String name, String summary, String precision, boolean ordered, boolean walksTicks) {
    About(String name, String summary, String precision, boolean ordered) {
      this(name, summary, precision, ordered, false);
    }

    void print() throws IOException {
      System.out.printf(
          "{\"name\": \"%s\", \"summary\": \"%s\", \"precision\": \"%s\", \"ordered\": %b,"
              + " \"walks_ticks\": %b, \"version\": \"%s\", \"files\": [\"%s\"]}%n",
          name,
          summary,
          precision,
          ordered,
          walksTicks,
          version() + " " + flags(),
          String.join("\", \"", files()));
    }

    /** Of the JVM: the collector and the heap matter, too. */
    private static String flags() {
      return String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments());
    }

    /** The class files and archives of the class path. */
    private static List<String> files() throws IOException {
      List<String> files = new ArrayList<>();
      for (Path entry : classPath()) {
        try (Stream<Path> paths = Files.walk(entry)) {
          paths.filter(Files::isRegularFile).sorted().forEach(path -> files.add(path.toString()));
        }
      }
      return files;
    }
  }

  private static List<Path> classPath() {
    return Stream.of(System.getProperty("java.class.path").split(":")).map(Path::of).toList();
  }

  /** Archives and the JVM, with the packages that have them, whose names follow Debian's rules. */
  private static String version() {
    List<String> versions = new ArrayList<>();
    for (Path entry : classPath()) {
      String archive = entry.getFileName().toString();
      if (!archive.endsWith(".jar")) continue;
      versions.add(archive.replace(".jar", "") + " (lib" + archive.split("-")[0] + "-java)");
    }
    versions.add("OpenJDK " + System.getProperty("java.version"));
    versions.add("(openjdk-" + Runtime.version().feature() + "-jdk-headless)");
    return String.join(" ", versions);
  }

  /**
   * Ends the program: the inside of a library is not as it was in the version that the program was
   * written for.
   */
  static Error unexpected(String expected, Object found) {
    System.err.println("it was written for " + expected + "; " + found + " in " + version());
    System.exit(1);
    return new Error(); // is never returned, but thrown in the eyes of the compiler
  }

  /** Does what the command line asks for. */
  static void main(String[] words, About about, Timers.Maker maker) throws IOException {
    if (words[0].equals("describe")) {
      maker.make(1, 1).close(); // if the libraries are as expected
      about.print();
      return;
    }
    List<Trace> traces = new ArrayList<>();
    long granularity = 1;
    double seconds = 0;
    String file = null;
    for (int i = 1; i < words.length; ++i) {
      String value = words[i].substring(words[i].indexOf('=') + 1);
      if (words[i].startsWith("--granularity=")) {
        granularity = Long.parseLong(value);
      } else if (words[i].startsWith("--seconds=")) {
        seconds = Double.parseDouble(value);
      } else if (words[i].startsWith("--fires=")) {
        file = value;
      } else {
        traces.add(new Trace(words[i]));
      }
    }
    if (file != null) {
      try (Writer writer = Files.newBufferedWriter(Path.of(file))) {
        writer.write("now,id,deadline\n");
        Trace trace = traces.get(0);
        print(trace, maker.make(trace.capacity, granularity), new Fires(writer));
      }
      return;
    }
    long end = System.nanoTime() + (long) (seconds * 1e9);
    for (int i = 0; i < Math.max(3, traces.size()) || System.nanoTime() < end; ++i) {
      Trace trace = traces.get(i % traces.size());
      print(trace, maker.make(trace.capacity, granularity), new Fires(null));
    }
  }

  private static void print(Trace trace, Timers timers, Fires fires) {
    int[] words = trace.words;
    int setup = trace.setup * 2;
    long cancelled = play(words, 0, setup, timers, fires);
    long begin = System.nanoTime();
    cancelled += play(words, setup, words.length, timers, fires);
    long elapsed = System.nanoTime() - begin;
    System.out.printf(
        "{\"elapsed_ns\": %d, \"fired\": %d, \"cancelled\": %d, \"pending\": %d}%n",
        elapsed, fires.count, cancelled, timers.pending());
    timers.close();
  }

  /** Returns how many cancellations prevented a fire. */
  private static long play(int[] words, int begin, int end, Timers timers, Fires fires) {
    long cancelled = 0;
    for (int i = begin; i < end; i += 2) {
      int id = words[i];
      int argument = words[i + 1];
      if (id == ADVANCE) {
        timers.now += Integer.toUnsignedLong(argument);
        timers.fireDue(fires);
      } else if (argument != CANCEL) {
        timers.arm(id, timers.now + Integer.toUnsignedLong(argument));
      } else if (timers.cancel(id)) {
        ++cancelled;
      }
    }
    return cancelled;
  }
}
