//! A cluster of six nodes on loopback ports: three primaries that share the slots, each with a
//! replica.

use crate::harness::{Builder, Server, database, text};
use crate::slots::node_id;
use redis::Value;

pub const PRIMARIES: usize = 3;

/// First the initial primaries, then the replica of each.
pub struct Nodes {
    pub servers: Vec<Server>,
}

impl Nodes {
    pub fn start() -> Self {
        Self::start_with(Server::with())
    }

    /// Starts six nodes with this builder, and waits until all agree on the cluster.
    pub fn start_with(builder: Builder) -> Self {
        let builder = builder.cluster().config("cluster-allow-replica-migration no");
        let servers: Vec<_> = (0..2 * PRIMARIES).map(|_| builder.clone().start()).collect();
        for (index, server) in servers.iter().enumerate() {
            expect_ok(server, &format!("CLUSTER SET-CONFIG-EPOCH {}", index + 1));
        }
        for (index, server) in servers.iter().take(PRIMARIES).enumerate() {
            let range = (index * 16_384 / PRIMARIES, (index + 1) * 16_384 / PRIMARIES - 1);
            expect_ok(server, &format!("CLUSTER ADDSLOTSRANGE {} {}", range.0, range.1));
        }
        for server in &servers[1..] {
            let Value::Array(bus) = server.run("CONFIG GET cluster-port") else {
                panic!("no port")
            };
            let meet = format!("CLUSTER MEET 127.0.0.1 {} {}", server.port(), text(&bus[1]));
            expect_ok(&servers[0], &meet);
        }
        let nodes = Self { servers };
        nodes.wait_until("all nodes to meet", |server| {
            let known = server.say("CLUSTER NODES");
            known.lines().count() == 2 * PRIMARIES && !known.contains("handshake")
        });
        for (primary, replica) in nodes.servers.iter().zip(&nodes.servers[PRIMARIES..]) {
            expect_ok(replica, &format!("CLUSTER REPLICATE {}", node_id(primary)));
        }
        nodes.wait_until("all nodes to agree", |server| {
            let known = server.say("CLUSTER NODES");
            let replicas = known.lines().filter(|line| line.contains("slave")).count();
            let is_linked = server.info("role").as_deref() == Some("master")
                || server.info("master_link_status").as_deref() == Some("up");
            let is_ok = server.say("CLUSTER INFO").contains("cluster_state:ok");
            is_ok && is_linked && replicas == PRIMARIES && !known.contains("fail")
        });
        nodes
    }

    /// Waits until a condition is true on every running node.
    fn wait_until(&self, what: &str, mut holds: impl FnMut(&Server) -> bool) {
        for server in &self.servers {
            server.until(what, || holds(server));
        }
    }

    /// The addresses of all nodes, for cluster clients.
    pub fn urls(&self) -> Vec<String> {
        let url = |server: &Server| format!("redis://127.0.0.1:{}/{}", server.port(), database());
        self.servers.iter().map(url).collect()
    }

    /// The index of the primary, among the initial ones, that owns the slot of a key.
    pub fn owner(&self, key: &str) -> usize {
        let has = |index: &usize| {
            let reply = self.servers[*index].call(&["EXISTS", key]);
            matches!(reply, Value::Int(_))
        };
        (0..PRIMARIES).find(has).expect("somebody has the slot")
    }
}

fn expect_ok(server: &Server, command: &str) {
    server.until(command, || server.run(command) == Value::Okay);
}
