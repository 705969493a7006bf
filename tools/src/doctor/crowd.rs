//! Many connections at once: 100 units, 400 users, three tries each.

use std::thread;

use anyhow::{Result, anyhow};

use crate::server::{Client, Server};
use crate::shape::{Shape, Try};
use crate::state;
use crate::template::Template;

pub const UNITS: i64 = 100;
pub const USERS: usize = 400;
pub const CONNECTIONS: usize = 16;
const TRIES_A_USER: usize = 3;

/// What the keys say afterwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crowd {
    pub left: Option<i64>,
    /// Nothing where buyers are not in one set.
    pub buyers: Option<usize>,
    pub orders: usize,
    pub errors: usize,
}

impl Crowd {
    pub fn send(server: &Server, shape: &Shape, script: &[u8]) -> Result<Self> {
        let mut client = server.client()?;
        client.must(&["FLUSHALL"])?;
        let first = a_try(0);
        client.must(&[&b"SET"[..], &shape.stock_key(&first), UNITS.to_string().as_bytes()])?;
        let errors: Result<Vec<usize>> = thread::scope(|scope| {
            let start =
                |part| scope.spawn(move || part_of(&mut server.client()?, shape, script, part));
            let parts: Vec<_> = (0..CONNECTIONS).map(start).collect();
            parts
                .into_iter()
                .map(|part| part.join().map_err(|_| anyhow!("a thread failed"))?)
                .collect()
        });
        let after = state::read(&mut client)?;
        let of_user = |key: &Template| key.slots().any(|slot| Some(slot) == shape.user);
        let in_one_set = shape.buyers.as_ref().is_some_and(|buyers| !of_user(buyers));
        let len = |key: Option<Vec<u8>>| key.map_or(0, |key| state::len(&after, &key));
        Ok(Self {
            left: state::number(&after, &shape.stock_key(&first)),
            buyers: in_one_set.then(|| len(shape.buyers_key(&first))),
            orders: len(shape.stream_key(&first)),
            errors: errors?.into_iter().sum(),
        })
    }
}

/// The tries of one connection; gives how many were answered by errors.
fn part_of(client: &mut Client, shape: &Shape, script: &[u8], part: usize) -> Result<usize> {
    let mut errors = 0;
    for number in (part..USERS * TRIES_A_USER).step_by(CONNECTIONS) {
        let reply = client.eval(&shape.eval(script, &a_try(number), false))?;
        errors += usize::from(reply.is_error());
    }
    Ok(errors)
}

fn a_try(number: usize) -> Try {
    // Neighbours are the same user, on connections that send at the same time.
    let user = format!("{}", 1000 + number / TRIES_A_USER).into();
    Try { voucher: "7", user, order: format!("{}", 5000 + number) }
}
