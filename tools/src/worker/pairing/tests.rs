//! Pairing ids; and a model: every order of the steps of two first starts, with kills and losses.

use std::collections::HashSet;

use super::*;

#[test]
fn an_empty_database_is_not_the_named_one_if_another_is_not() {
    let both = "# Keyspace\r\ndb0:keys=3,expires=0,avg_ttl=0\r\ndb12:keys=1,expires=0\r\n";
    let found = fuller(0, both, 3).unwrap_or_default();
    assert!(found.starts_with("db0 has nothing of a sale, and db12 has keys"), "{found}");
    assert!(fuller(1, both, 0).unwrap_or_default().contains("and db0 has"));
    for (number, keyspace, ours) in
        [(0, both, 2), (12, both, 0), (0, "", 0), (0, "db0:keys=1", 1), (0, "db0:x\r\ndb1:y", 9)]
    {
        assert_eq!(fuller(number, keyspace, ours), None, "{number} {keyspace}");
    }
}

/// A replica that becomes the primary continues the history of the one that it has followed.
#[test]
fn a_server_that_has_followed_another_one_is_another_run() {
    let info = |replid2: String| format!("# Server\r\nrun_id:0ab\r\nmaster_replid2:{replid2}\r\n");
    assert_eq!(run_in(&info("0".repeat(40))), "0ab");
    assert_eq!(run_in(&info("c0".repeat(20))), "0ab c0c0c0c0c0c0c0c0");
    assert_eq!(run_in("run_id:0ab\r\n"), "0ab");
    assert_eq!(run_in(""), "");
}

#[test]
fn an_id_tells_what_was_read_before() {
    assert_eq!(began("0f 1-2"), EntryId { ms: 1, seq: 2 });
    assert_eq!([began(""), began("0f"), began("0f soon")], [EntryId::default(); 3]);
}

/// One of two databases of a world.
type Number = usize;
type Decide = fn(Option<String>, Option<Group>, Option<String>) -> Pairing;

/// Where a worker is. Each step reads or writes one side once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Start,
    Asked(Option<String>),
    Looked(Option<String>, Option<Row>),
    /// What it writes next.
    Adds(Row),
    Sets(String),
    Sees(String),
    Changes(String, Row),
    Reads,
    Refuses,
}

/// The id and whether the group is to be checked.
type Row = (String, bool);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    server: Option<String>,
    tables: [Option<Row>; 2],
    /// Which database a worker has, and its step.
    workers: [(Number, Step); 2],
    /// How many workers were killed, and made an id.
    kills: u8,
    ids: u8,
    has_lost_server: bool,
    has_lost: [bool; 2],
    /// A database was lost after something was read into it, and nobody knows.
    owes: [bool; 2],
    /// Something was read into it.
    has_read: [bool; 2],
}

fn row((pairing_id, is_unchecked): Row) -> Group {
    let unchecked = is_unchecked.then(|| "lost".to_owned());
    Group { pairing_id, unchecked, ..Group::default() }
}

impl World {
    /// What may be next, of a worker.
    fn step(&mut self, worker: usize, decide: Decide) {
        let (number, step) = self.workers[worker].clone();
        let table = &mut self.tables[number];
        self.workers[worker].1 = match step {
            Step::Start => Step::Asked(self.server.clone()),
            Step::Asked(before) => Step::Looked(before, table.clone()),
            Step::Looked(before, tables) => {
                let pairing = decide(before, tables.map(row), self.server.clone());
                self.decided(number, pairing)
            }
            Step::Adds(row) => {
                table.get_or_insert(row);
                Step::Start
            }
            Step::Sets(id) => {
                self.server.get_or_insert_with(|| id.clone());
                Step::Sees(id)
            }
            Step::Sees(id) if self.server.as_ref() == Some(&id) => {
                Step::Changes(format!("{id}{BEGUN}"), (id, false))
            }
            Step::Sees(_) => Step::Start,
            Step::Changes(before, (id, is_unchecked)) => {
                if let Some(row) = table.as_mut().filter(|row| row.0 == before) {
                    *row = (id, row.1 || is_unchecked);
                }
                Step::Start
            }
            end @ (Step::Reads | Step::Refuses) => end,
        };
    }

    /// What is claimed must be true.
    fn decided(&mut self, number: Number, pairing: Pairing) -> Step {
        // Ids are named after the database that they were made for.
        let is_of_other = |id: &String| !id.starts_with(&number.to_string());
        match pairing {
            Pairing::New => {
                self.ids += 1;
                Step::Adds((format!("{number}{}{BEGUN}", self.ids), false))
            }
            Pairing::Begun(group) => Step::Sets(begun(&group).unwrap_or("not begun").to_owned()),
            Pairing::Same(group) => {
                let row = (group.pairing_id, group.unchecked.is_some());
                // What is lost while it starts is told at the next start.
                let is_late = self.tables[number].as_ref() != Some(&row);
                assert!(!self.owes[number] || row.1 || is_late, "an unknown loss: {self:?}");
                assert!(!is_of_other(&row.0) || row.1, "another database: {self:?}");
                self.has_read[number] = true;
                Step::Reads
            }
            Pairing::TablesLost { id, begun } => {
                let is_true = self.has_lost[number] || is_of_other(&id);
                assert!(is_true, "nothing was lost: {self:?}");
                let row = (id, true);
                begun.map_or(Step::Adds(row.clone()), |begun| Step::Changes(begun.pairing_id, row))
            }
            Pairing::OtherServer => {
                let is_other = self.server.as_ref().is_some_and(is_of_other);
                assert!(self.has_lost_server || is_other, "it is the same server: {self:?}");
                Step::Refuses
            }
        }
    }

    fn all_next(&self, decide: Decide) -> Vec<World> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut World)| {
            let mut next = self.clone();
            change(&mut next);
            all.push(next);
        };
        for worker in 0..2 {
            add(&|world| world.step(worker, decide));
            if self.kills == 0 {
                add(&|world| {
                    world.kills += 1;
                    world.workers[worker].1 = Step::Start;
                });
            }
        }
        for number in 0..2 {
            let is_used = self.workers.iter().any(|(its, _)| *its == number);
            if is_used && !self.has_lost[number] {
                add(&|world| {
                    world.has_lost[number] = true;
                    world.tables[number] = None;
                    world.owes[number] = world.has_read[number]
                        && (world.server.is_some() || !world.has_lost_server);
                });
            }
        }
        if !self.has_lost_server {
            // Of a database that is lost, too, nothing tells any more.
            add(&|world| {
                (world.server, world.has_lost_server, world.owes) = (None, true, [false; 2]);
            });
        }
        all
    }
}

/// Looks at every order of the steps of two workers, of one database or of two, each killed at any
/// step, with each loss at any moment. How many worlds there are.
fn explore(databases: [Number; 2], decide: Decide) -> usize {
    let first = World {
        server: None,
        tables: [None, None],
        workers: databases.map(|number| (number, Step::Start)),
        kills: 0,
        ids: 0,
        has_lost_server: false,
        has_lost: [false; 2],
        owes: [false; 2],
        has_read: [false; 2],
    };
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(world) = open.pop() {
        // Left alone, both come to an end.
        let mut alone = world.clone();
        let is_end = |step: &Step| matches!(step, Step::Reads | Step::Refuses);
        let has_ended = (0..60).any(|turn| {
            alone.step(turn % 2, decide);
            alone.workers.iter().all(|(_, step)| is_end(step))
        });
        assert!(has_ended, "no end: {alone:?}");
        open.extend(world.all_next(decide).into_iter().filter(|next| seen.insert(next.clone())));
    }
    seen.len()
}

#[test]
fn no_order_of_steps_takes_a_loss_for_a_first_start_or_a_first_start_for_a_loss() {
    for databases in [[0, 0], [0, 1]] {
        assert!(explore(databases, Pairing::of) > 10_000);
    }
}

#[test]
fn faults_of_pairing_are_found() {
    let planted: [Decide; 4] = [
        // The tables are read before the server alone, or after it alone.
        |_, tables, after| Pairing::of(after.clone(), tables, after),
        |before, tables, _| Pairing::of(before.clone(), tables, before),
        // The server's id is taken, whatever it is.
        |before, tables, after| match Pairing::of(before, tables, after) {
            Pairing::TablesLost { id, .. } => Pairing::Same(row((id, false))),
            other => other,
        },
        // A first start that has begun is one that has ended.
        |before, tables, after| match Pairing::of(before, tables, after) {
            Pairing::Begun(group) => Pairing::Same(group),
            other => other,
        },
    ];
    for (number, decide) in planted.into_iter().enumerate() {
        let is_found = [[0, 0], [0, 1]]
            .into_iter()
            .any(|databases| std::panic::catch_unwind(|| explore(databases, decide)).is_err());
        assert!(is_found, "{number}");
    }
}
