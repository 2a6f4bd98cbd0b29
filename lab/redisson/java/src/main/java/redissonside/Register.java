package redissonside;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A connection to the register, which counts who holds what. It answers each line when it has counted it. */
final class Register implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader answers;
    private final OutputStream out;

    Register(String address) throws IOException {
        int colon = address.lastIndexOf(':');
        socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        out = socket.getOutputStream();
    }

    void enter(String name, String who, String mode, int weight, Long token) throws IOException {
        say("enter " + name + " " + who + " " + mode + " " + weight + " " + (token == null ? "-" : token));
    }

    void leave(String name, String who) throws IOException {
        say("leave " + name + " " + who);
    }

    private void say(String line) throws IOException {
        out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        String answer = answers.readLine();
        if (!"ok".equals(answer)) {
            throw new IOException("the register answered " + answer + " to " + line);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
