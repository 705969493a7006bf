//! Ties of locks to connections, compared step by step with a list.

use std::rc::Rc;

use domain::db_key::{DbKey, swapped_db};
use domain::sessions::{ConnectionId, Sessions, Tied};
use domain::slot::Slot;

use crate::input::Input;

/// A lock with its token, and the connection that it is tied to.
struct Tie {
    lock: DbKey,
    token: Rc<[u8]>,
    connection: ConnectionId,
}

/// Whose connections tie this lock.
fn user(key: &[u8]) -> Rc<[u8]> {
    [key.first().map_or(0, |byte| byte % 2)].into()
}

#[derive(Default)]
struct Model {
    ties: Vec<Tie>,
    /// The connections that have closed, in order. Numbers are never reused.
    closed: Vec<ConnectionId>,
    /// How often each of five clients has reconnected.
    connected: [u64; 5],
}

/// A closed connection releases each lock whose latest tie is to it, once, whatever number the
/// database has by then.
pub(crate) fn sessions(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (mut sessions, mut model) = (Sessions::default(), Model::default());
    while !input.is_empty() {
        let lock = DbKey::new(i32::from(input.below(3)), &[b'a' + input.below(3)]);
        let client = usize::from(input.below(5));
        match input.below(12) {
            0..4 => model.tie(&mut sessions, &lock, client, input.byte()),
            4 => {
                sessions.end(lock.db, &lock.key);
                model.ties.retain(|tie| tie.lock != lock);
            }
            5 => model.keep(&mut sessions, &lock),
            6 | 7 => model.close(&mut sessions, client),
            8 => model.release(&mut sessions),
            9 => {
                let other = i32::from(input.below(3));
                sessions.swap(lock.db, other);
                for tie in &mut model.ties {
                    tie.lock.db = swapped_db(tie.lock.db, lock.db, other);
                }
            }
            10 => {
                sessions.flushed(lock.db);
                model.ties.retain(|tie| tie.lock.db != lock.db);
            }
            _ => {
                let slot = Slot::of(&lock.key).number();
                sessions.leave(slot..=slot);
                model.ties.retain(|tie| tie.lock.key != lock.key);
            }
        }
        model.check(&sessions, &lock);
    }
    (0..model.connected.len()).for_each(|client| model.close(&mut sessions, client));
    while model.has_closed() {
        model.release(&mut sessions);
    }
    assert_eq!(sessions.next_closed(), None);
    assert!(sessions.is_empty() && !sessions.has_closed() && model.ties.is_empty());
}

impl Model {
    fn connection(&self, client: usize) -> ConnectionId {
        ConnectionId(self.connected[client] * 5 + client as u64)
    }

    fn tie(&mut self, sessions: &mut Sessions, lock: &DbKey, client: usize, token: u8) {
        let (token, connection): (Rc<[u8]>, _) = ([token].into(), self.connection(client));
        sessions.tie(lock, Rc::clone(&token), connection, user(&lock.key));
        self.ties.retain(|tie| tie.lock != *lock);
        self.ties.push(Tie { lock: lock.clone(), token, connection });
    }

    fn keep(&mut self, sessions: &mut Sessions, lock: &DbKey) {
        sessions.keep(lock.db, &lock.key);
        let closed = &self.closed;
        self.ties.retain(|tie| tie.lock != *lock || !closed.contains(&tie.connection));
    }

    fn close(&mut self, sessions: &mut Sessions, client: usize) {
        let connection = self.connection(client);
        let has_any = self.ties.iter().any(|tie| tie.connection == connection);
        assert_eq!(sessions.close(connection), has_any);
        self.closed.push(connection);
        self.connected[client] += 1;
    }

    fn has_closed(&self) -> bool {
        self.ties.iter().any(|tie| self.closed.contains(&tie.connection))
    }

    /// Locks of the connection that closed first are released first.
    fn release(&mut self, sessions: &mut Sessions) {
        let of = |connection: &ConnectionId| {
            self.ties.iter().any(|tie| tie.connection == *connection).then_some(*connection)
        };
        let first = self.closed.iter().find_map(of);
        let Some(Tied { lock, token }) = sessions.next_closed() else {
            return assert_eq!(first, None, "a lock was forgotten");
        };
        let index = self.ties.iter().position(|tie| tie.lock == lock && tie.token == token);
        let tie = self.ties.remove(index.expect("a lock that was tied"));
        assert_eq!(Some(tie.connection), first);
    }

    fn check(&self, sessions: &Sessions, lock: &DbKey) {
        assert_eq!(sessions.count().all(), self.ties.len());
        let of_user = self.ties.iter().filter(|tie| user(&tie.lock.key) == user(&lock.key));
        assert_eq!(sessions.count().of(&user(&lock.key)), of_user.count());
        let tie = self.ties.iter().find(|tie| tie.lock == *lock);
        assert_eq!(sessions.connection(lock.db, &lock.key), tie.map(|tie| tie.connection));
        assert!(sessions.has_closed() || !self.has_closed(), "a close was forgotten");
        assert!(!sessions.is_empty() || self.ties.is_empty());
    }
}
