#!/usr/bin/env bash
# Curator's InterProcessMutex on ZooKeeper: a thread of a process holds the lock of a voucher, and its session expires, after a long
# pause for example. Another process gets the lock. The thread goes on, and a method that it calls acquires the lock, too.
# Guess: re-entrant or not, acquire waits or says false, as nothing of the lock is left at the server; or release tells.
# Seen with Curator 5.9.0, ZooKeeper as it brings it: acquire is true at once, isAcquiredInThisProcess() too, and both releases
# return, while the other process has the lock all the time. Who holds it is a count in the process, which only release lowers; the
# server is asked for the first acquire alone. A thread that acquires once more "to be sure" is told yes. A listener of the connection's
# state that stops the work at SUSPENDED and LOST is up to you. Once it is released, acquire is false.
. "$(dirname "$0")/common.sh"
java_program org.apache.curator:curator-recipes:5.9.0 org.apache.curator:curator-test:5.9.0 <<'JAVA'
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryForever;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.ZooKeeper;

public class Probe {
    static CuratorFramework client(TestingServer server) throws Exception {
        var client = CuratorFrameworkFactory.newClient(server.getConnectString(), new RetryForever(200));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    static boolean acquire(InterProcessMutex mutex) throws Exception {
        return mutex.acquire(3, TimeUnit.SECONDS);
    }

    public static void main(String[] args) throws Exception {
        var server = new TestingServer();
        CuratorFramework one = client(server), two = client(server);
        InterProcessMutex ours = new InterProcessMutex(one, "/voucher/7"), theirs = new InterProcessMutex(two, "/voucher/7");
        System.out.println("one " + acquire(ours) + " two " + acquire(theirs));
        var lost = new CountDownLatch(1);
        one.getConnectionStateListenable().addListener((client, state) -> {
            if (state == ConnectionState.LOST) lost.countDown();
        });
        // The server ends the session when a client asks it to, as it does after the session's time-out.
        var session = one.getZookeeperClient().getZooKeeper();
        var there = new CountDownLatch(1);
        var same = new ZooKeeper(server.getConnectString(), 10000, event -> there.countDown(),
                session.getSessionId(), session.getSessionPasswd());
        there.await();
        same.close();
        System.out.println("two " + theirs.acquire(60, TimeUnit.SECONDS));
        lost.await(60, TimeUnit.SECONDS);
        one.blockUntilConnected();
        System.out.println("one " + acquire(ours) + " held " + ours.isAcquiredInThisProcess());
        ours.release();
        ours.release();
        System.out.println("released, and one " + acquire(ours) + " two held " + theirs.isAcquiredInThisProcess());
        Runtime.getRuntime().halt(0);
    }
}
JAVA
mapfile -t found < <(probe)
seen "before" "one true two false" "${found[0]:-}"
seen "after the session of one" "two true" "${found[1]:-}"
seen "one again, in the same thread" "one true held true" "${found[2]:-}"
seen "after two releases" "released, and one false two held true" "${found[3]:-}"
verdict
