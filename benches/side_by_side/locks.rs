//! LOCK.RELEASE compared with the unlock script and, if the server has one, the command that
//! deletes a key with a given value: by the owner, and by another client.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, UNLOCKING, those_of};
use crate::figures::{Figure, in_rounds};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::wire::{Load, PIPELINE};

const OWNER: &str = "7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:42";
const STRANGER: &str = "7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:43";
const LEASE_MS: &str = "600000";
const DIFFERENT: usize = 5_000;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    Owner,
    Stranger,
}

impl Release {
    pub fn label(self) -> &'static str {
        match self {
            Self::Owner => "released by its owner",
            Self::Stranger => "refused to a stranger",
        }
    }
}

#[derive(Serialize)]
pub struct Locks {
    pub release: Release,
    pub costs: Vec<Figure>,
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Locks>> {
    let owner = by_owner(&mut lab.stand(false)?, size)?;
    let stranger = by_stranger(&mut lab.stand(false)?, size)?;
    Ok(vec![
        Locks { release: Release::Owner, costs: owner },
        Locks { release: Release::Stranger, costs: stranger },
    ])
}

/// Every lock can be released only once, so each turn first acquires all, without measuring that.
fn by_owner(stand: &mut Stand, size: Size) -> Result<Vec<Figure>> {
    let mut acquire = Load::new(PIPELINE, b"+OK\r\n");
    for lock in locks(size.accepted_each) {
        acquire.push(&[
            b"SET",
            lock.as_bytes(),
            OWNER.as_bytes(),
            b"NX",
            b"PX",
            LEASE_MS.as_bytes(),
        ]);
    }
    let contenders = those_of(stand, UNLOCKING)?;
    let loads = loads(stand, &contenders, size.accepted_each, OWNER, b":1\r\n");
    in_rounds(size.rounds, &contenders, |place| {
        stand.send(&acquire)?;
        let micros = stand.measure(&loads[place], 1)?;
        let left: usize = stand.run(&["DBSIZE"])?;
        if left == 0 { Ok(micros) } else { Err(format!("{left} locks were not released").into()) }
    })
}

fn by_stranger(stand: &mut Stand, size: Size) -> Result<Vec<Figure>> {
    for lock in locks(DIFFERENT) {
        let () = stand.run(&["SET", &lock, OWNER, "NX", "PX", LEASE_MS])?;
    }
    let contenders = those_of(stand, UNLOCKING)?;
    let loads = loads(stand, &contenders, DIFFERENT, STRANGER, b":0\r\n");
    in_rounds(size.rounds, &contenders, |place| {
        stand.send(&loads[place])?;
        stand.measure(&loads[place], size.losing_each / DIFFERENT)
    })
}

fn loads(
    stand: &Stand,
    contenders: &[Contender],
    count: usize,
    token: &str,
    reply: &[u8],
) -> Vec<Load> {
    contenders.iter().map(|c| c.releases(stand, PIPELINE, locks(count), token, reply)).collect()
}

fn locks(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("lock:order:{}", 1_000_001 + n))
}
