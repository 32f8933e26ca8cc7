import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A trace as docs/recording.md defines it: operations in NAME.npy, the rest in NAME.json. */
final class Trace {
  final int[] words; // an operation is an id and an argument, both unsigned
  final int setup; // operations
  final int capacity;

  Trace(String name) throws IOException {
    String info = Files.readString(Path.of(name + ".json"));
    setup = member(info, "setup_ops");
    capacity = member(info, "capacity");
    ByteBuffer file =
        ByteBuffer.wrap(Files.readAllBytes(Path.of(name + ".npy"))).order(ByteOrder.LITTLE_ENDIAN);
    file.position(10 + Short.toUnsignedInt(file.getShort(8))); // after the header
    words = new int[file.remaining() / Integer.BYTES];
    file.asIntBuffer().get(words);
  }

  private static int member(String json, String name) throws IOException {
    Matcher found = Pattern.compile('"' + name + "\"\\s*:\\s*(\\d+)").matcher(json);
    if (!found.find()) throw new IOException("the description of the trace has no " + name);
    return Integer.parseInt(found.group(1));
  }
}
