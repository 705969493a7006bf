//! Every command of the table, sent by a cluster client and by `redis-cli -c`, each in a world of
//! its own: together these are on all primaries.

use std::collections::BTreeSet;

use kit::commands::{Row, World, assert_answered, in_words, rows};
use redis::Value;
use redis::cluster::ClusterClient;

use crate::cli::redis_cli;
use crate::nodes::{Nodes, PRIMARIES};

#[test]
fn every_command_by_a_cluster_client_and_by_redis_cli() {
    let nodes = Nodes::start();
    let client = ClusterClient::new(nodes.urls()).expect("a cluster client");
    let mut connection = client.get_connection().expect("a connection");
    // The client routes unknown commands by their first argument: ours have the key there.
    let mut send = |line: &str| {
        let mut words = line.split(' ');
        let mut command = redis::cmd(words.next().expect("a name"));
        command.arg(words.collect::<Vec<_>>()).query::<Value>(&mut connection)
    };
    let mut owners = BTreeSet::new();
    for (number, Row { call, answer, .. }) in rows().into_iter().enumerate() {
        for way in ["client", "cli"] {
            let tag = format!("{number}{way}");
            owners.insert(nodes.owner(&tag));
            let made = |line: &str| send(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            let call = World::make(Some(&tag), made).named(call);
            if way == "client" {
                let got = match send(&call) {
                    Ok(reply) => in_words(&reply),
                    Err(error) => format!("(error) {} -", error.code().unwrap_or("lost")),
                };
                assert_answered(&call, answer, &got);
                continue;
            }
            // Through any node, wherever the voucher is: redis-cli follows redirections. It prints
            // errors into a pipe without a prefix.
            let arguments = ["-c"].into_iter().chain(call.split(' ')).collect::<Vec<_>>();
            let printed = redis_cli(&nodes.servers[number % nodes.servers.len()], &arguments);
            let got = printed.split_whitespace().collect::<Vec<_>>().join(" ");
            let wanted = answer.strip_prefix("(error) ").unwrap_or(answer);
            assert_answered(&call, wanted, &got);
        }
    }
    assert_eq!(owners.len(), PRIMARIES, "the worlds are on all primaries");
    // Replicas get all data, and redirect clients.
    for (primary, replica) in nodes.servers.iter().zip(&nodes.servers[PRIMARIES..]) {
        primary.wait_for_replica(replica);
        assert_eq!(primary.digest(), replica.digest());
        assert!(replica.say("SECKILL.TRY 7 alice o1").starts_with("MOVED "));
    }
}
