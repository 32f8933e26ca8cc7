import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;

/** Counts the fires of a replay, and writes them if it has a writer. */
final class Fires {
  private final Writer writer;
  long count;

  Fires(Writer writer) {
    this.writer = writer;
  }

  void add(long now, int id, long deadline) {
    ++count;
    if (writer == null) return;
    try {
      writer.write(now + "," + id + "," + deadline + "\n");
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
