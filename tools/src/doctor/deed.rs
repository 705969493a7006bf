//! What a script does to a lock: it releases or renews it.

use domain::integer;

use crate::explore::Run;
use crate::template::Slot;
use crate::wire::Words;
use crate::world::{Cell, Kind};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Release,
    Renew(Lease),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// A number of units of this many ms.
    Given(Slot, i64),
    Ms(i64),
}

/// What a run did to a single string: it deleted it, or gave it another time to live.
pub fn of(run: &Run, slots: &[Slot]) -> Option<(Cell, Deed)> {
    let effects = run.effects();
    if !effects.taken.is_empty() || !effects.given.is_empty() {
        return None;
    }
    if let [cell] = effects.gone.as_slice() {
        return Some((cell.clone(), Deed::Release));
    }
    let [key] = effects.touched.as_slice() else { return None };
    if effects.count() > 1 {
        return None;
    }
    let cell = Cell { key: key.clone(), kind: Kind::Text, item: Vec::new() };
    let expires = |call: &&Words| does(Deed::Renew(Lease::Ms(0)), call, key);
    let call = run.seen.calls.iter().rfind(expires)?;
    let unit = if call[0] == b"EXPIRE" { 1000 } else { 1 };
    let ms = integer::parse(&call[2])?.checked_mul(unit)?;
    let given = slots.iter().find_map(|slot| {
        let mark = integer::parse(&slot.mark())?;
        let unit =
            [1, 1000, 60_000].into_iter().find(|unit| mark.checked_mul(*unit) == Some(ms))?;
        Some(Lease::Given(*slot, unit))
    });
    Some((cell, Deed::Renew(given.unwrap_or(Lease::Ms(ms)))))
}

/// Whether a call does the deed to a key.
pub fn does(deed: Deed, call: &Words, key: &[u8]) -> bool {
    let (names, len): ([&[u8]; 2], usize) = match deed {
        Deed::Release => ([b"DEL", b"UNLINK"], 2),
        Deed::Renew(_) => ([b"PEXPIRE", b"EXPIRE"], 3),
    };
    call.len() == len && call[1] == key && names.contains(&call[0].as_slice())
}
