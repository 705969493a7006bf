//! The index of holds and the lines of waiters, step by step against lists.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::input::Input;
use crate::rules::due::{DueIndex, Place};
use crate::waiters::{self, Request, Wait, Waiters};

fn swapped(db: i32, first: i32, second: i32) -> i32 {
    match db {
        db if db == first => second,
        db if db == second => first,
        db => db,
    }
}

/// The index forgets no key, gives the earliest first, and follows its databases.
pub(crate) fn due(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut index = DueIndex::default();
    let mut model: BTreeMap<Place, (i64, u64)> = BTreeMap::new();
    let mut marked: BTreeSet<Place> = BTreeSet::new();
    while !input.is_empty() {
        let place = Place { db: i32::from(input.below(3)), key: vec![b'a' + input.below(4)] };
        let at = i64::from(input.below(50)) + 1;
        match input.below(9) {
            0 | 1 => {
                index.set(place.clone(), at, u64::from(at as u8));
                model.insert(place, (at, at as u64));
            }
            2 => {
                index.retry(place.clone(), at);
                model.entry(place).or_default().0 = at;
            }
            3 => {
                index.remove(&place);
                model.remove(&place);
            }
            4 => {
                index.mark(place.db, &place.key);
                marked.insert(place);
            }
            5 => match index.take_marked() {
                Some(place) => assert!(marked.remove(&place), "it was not marked"),
                None => assert!(marked.is_empty(), "a mark was forgotten"),
            },
            6 => {
                index.mark_all();
                marked.extend(model.keys().cloned());
            }
            7 => {
                let db = (place.db > 0).then_some(place.db);
                index.flushed(db);
                let stays = |place: &Place| db.is_some_and(|db| place.db != db);
                model.retain(|place, _| stays(place));
                marked.retain(stays);
            }
            _ => {
                index.swapped(0, place.db);
                let moved = |p: Place| Place { db: swapped(p.db, 0, place.db), ..p };
                model = model.into_iter().map(|(p, seen)| (moved(p), seen)).collect();
                marked = marked.into_iter().map(moved).collect();
            }
        }
        let first = model.values().map(|(at, _)| *at).min();
        assert_eq!(index.next(), if marked.is_empty() { first } else { Some(0) });
        assert_eq!(index.holds(), model.values().map(|(_, holds)| holds).sum::<u64>());
        let due = index.due(25).map(|place| model[&place].0);
        assert_eq!(due, first.filter(|at| *at <= 25));
    }
}

type Lines = Waiters<u32, u32, char>;

/// Who waits, in the order of arrival, where, and until when.
type Queue = Vec<(u32, waiters::Place, i64)>;

/// First come, first served, nobody is forgotten, and every grant is told or undone.
pub(crate) fn waiters(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (mut lines, mut queue, mut now_ms, mut next) = (Lines::default(), Queue::new(), 0, 0);
    while !input.is_empty() {
        now_ms += i64::from(input.below(4));
        let key: Rc<[u8]> = [b'a' + input.below(2)].into();
        let at = waiters::Place { db: i32::from(input.below(2)), key };
        match input.below(8) {
            0..3 => {
                let (until_ms, client) = (now_ms + 1 + i64::from(input.below(60)), next);
                next += 1;
                let token: Rc<[u8]> = client.to_string().into_bytes().into();
                let request = Request { token, lease_ms: 9, with_fence: false };
                let wait = Wait { since_ms: now_ms, until_ms };
                lines.join(client, client, &at, request, wait);
                queue.push((client, at.clone(), until_ms));
            }
            3 => serve(&mut lines, &mut queue, &at, now_ms, &mut input),
            4 => {
                let gone = u32::from(input.byte());
                let before = queue.len();
                queue.retain(|(client, ..)| *client != gone);
                assert_eq!(lines.gone(gone, now_ms).is_some(), queue.len() < before);
            }
            5 => {
                lines.mark(at.db, &at.key);
                let has_line = queue.iter().any(|(_, place, _)| *place == at);
                let mut marked = std::iter::from_fn(|| lines.next_marked());
                assert_eq!(marked.any(|place| place == at), has_line);
                while lines.next_marked().is_some() {}
            }
            6 => {
                lines.swap(0, 1);
                let mut marked: Vec<_> = std::iter::from_fn(|| lines.next_marked()).collect();
                marked.sort();
                let mut all: Vec<_> = queue.iter().map(|(_, place, _)| place.clone()).collect();
                all.sort();
                all.dedup();
                assert_eq!(marked, all, "who waits stays, and is looked at once");
            }
            _ => {
                lines.look_at(&at, input.flag().then_some(now_ms + 5));
                while let Some(late) = lines.next_overdue(now_ms) {
                    let entry = queue.iter().position(|(client, ..)| *client == late);
                    let (_, _, until_ms) = queue.remove(entry.expect("somebody who waits"));
                    assert!(until_ms <= now_ms, "too early");
                    lines.refuse(late, 'n', now_ms);
                    assert_eq!(lines.next_unanswered(), Some(late));
                    assert_eq!(lines.answer(late), Some(('n', None)));
                }
                assert!(queue.iter().all(|(.., until_ms)| *until_ms > now_ms), "too late");
            }
        }
        assert_eq!(lines.in_line(), queue.len());
        let here = queue.iter().filter(|(_, place, _)| *place == at);
        assert_eq!(lines.len(at.db, &at.key), here.clone().count());
        assert_eq!(lines.head(&at).map(|(client, _)| client), here.map(|(c, ..)| *c).next());
    }
    for (client, ..) in queue {
        lines.gone(client, now_ms);
    }
    assert!(lines.is_idle() && lines.in_line() == 0);
}

/// Grants the lock to the first in line, who hears of it, loses it again, or goes.
fn serve(
    lines: &mut Lines,
    queue: &mut Queue,
    at: &waiters::Place,
    now_ms: i64,
    input: &mut Input<'_>,
) {
    let Some((head, _)) = lines.head(at) else { return };
    lines.grant(head, 'y', now_ms);
    assert_eq!(lines.granted().len(), 1);
    if input.flag() {
        // Taken away again: the wait goes on, in the same place.
        lines.return_to_line(head);
        assert_eq!(lines.head(at).map(|(client, _)| client), Some(head));
        lines.grant(head, 'y', now_ms);
    }
    queue.retain(|(client, ..)| *client != head);
    if input.flag() {
        lines.gone(head, now_ms);
        let lost = lines.next_lost().expect("a grant to be undone");
        assert_eq!((&lost.place, &lost.token[..]), (at, head.to_string().as_bytes()));
        assert_eq!(lines.next_lost(), None);
    } else {
        assert_eq!(lines.next_unanswered(), Some(head));
        assert_eq!(lines.answer(head), Some(('y', None)));
        assert!(!lines.has_lost());
    }
}
