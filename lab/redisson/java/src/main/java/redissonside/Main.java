package redissonside;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Reads requests from standard input, a line of JSON each, and writes an answer for each to standard output. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err); // nothing else may write between the answers
        Session session = new Session(answers);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            session.accept(line);
        }
        // Whoever sent the requests has ended. Nothing is released, as after a crash.
        Runtime.getRuntime().halt(0);
    }
}
