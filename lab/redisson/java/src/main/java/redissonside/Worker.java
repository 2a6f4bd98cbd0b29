package redissonside;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

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
