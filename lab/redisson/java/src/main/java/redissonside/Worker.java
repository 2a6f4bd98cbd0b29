package redissonside;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/** A Java thread that runs what it is given, in order. Its id is a part of the owner that Redisson writes into locks. */
final class Worker {
    private final BlockingQueue<Runnable> jobs = new LinkedBlockingQueue<>();
    private final Thread thread;

    Worker(String name) {
        thread = new Thread(this::work, name);
        thread.setDaemon(true);
        thread.start();
    }

    void run(Runnable job) {
        jobs.add(job);
    }

    void interrupt() {
        thread.interrupt();
    }

    /** Whether the thread sleeps until a message comes: Redisson then waits for permits of a semaphore of the JDK. */
    boolean sleeps() {
        Thread.State state = thread.getState();
        if (state != Thread.State.WAITING && state != Thread.State.TIMED_WAITING) {
            return false;
        }
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getClassName().equals(Semaphore.class.getName())) {
                return true;
            }
        }
        return false;
    }

    private void work() {
        while (true) {
            try {
                Runnable job = jobs.take();
                job.run();
                Thread.interrupted(); // an interrupt is for the job that it has found
            } catch (InterruptedException e) {
                // it came between two jobs
            }
        }
    }
}
