//! What is passed in a comparison: ids as shops have them, amounts, leases, and the constants of
//! the script.

use fastrand::Rng;
use itertools::Itertools;

use crate::act::{Act, Deed};
use crate::call::{Call, Role, Values};
use crate::lua::Lua;
use crate::reply::Words;

pub const UNITS: [i64; 8] = [1, 2, 3, 5, 9, 10, 11, 20];

/// Leases in ms, from some seconds on, so that none ends meanwhile, up to a day.
const LEASES: [i64; 7] = [20_000, 30_000, 45_000, 80_000, 800_000, 5_000_000, 80_000_000];

/// Numbers, and times, that an argument of unknown meaning may be.
const USUAL: [i64; 9] = [1, 2, 3, 5, 60, 300, 86_400, 1_750_000_000, 1_750_000_000_000];

/// Ids as shops have them.
#[derive(Clone, Copy)]
pub enum Ids {
    Small,
    Snowflake,
    Uuid,
    Odd,
}

pub const IDS: [Ids; 4] = [Ids::Small, Ids::Snowflake, Ids::Uuid, Ids::Odd];

fn id(ids: Ids, kind: u64, number: u64) -> Vec<u8> {
    match ids {
        Ids::Small => (kind * 1000 + number + 1).to_string().into_bytes(),
        // Neighbours beyond 2^53: as numbers they would be one.
        Ids::Snowflake => {
            (1_782_938_471_625_347_073 + kind * 1_000_000 + number).to_string().into()
        }
        Ids::Uuid => format!("{kind:08x}-9b1d-4e2f-a5c6-{number:012x}").into_bytes(),
        // Two neighbours differ by the case of a letter.
        Ids::Odd => {
            let letter = if number.is_multiple_of(2) { 'a' } else { 'A' };
            let text = format!("{letter}{kind}\u{e9} \"{}'\\", number / 2);
            [text.as_bytes(), b"\xff\n%s"].concat()
        }
    }
}

/// The values of a call: of user `user`, with the order `order`.
pub fn values(call: &Call, ids: Ids, voucher: u64, user: u64, order: u64) -> Values {
    let value = |role: Role| match role {
        Role::Voucher => id(ids, 0, voucher + 6),
        Role::User => id(ids, 1, user),
        Role::Order => id(ids, 2, order),
        Role::Token => id(ids, 3, user),
        Role::Request => id(ids, 4, order),
        Role::Lock => [b"lock:".to_vec(), id(ids, 5, voucher)].concat(),
        Role::Units => b"1".to_vec(),
        Role::Lease => b"40000".to_vec(),
        Role::Other(_) => b"90000".to_vec(),
    };
    call.roles().into_iter().map(|role| (role, value(role))).collect()
}

/// Constants of the script, and their neighbours.
pub fn numbers(lua: &Lua) -> Vec<i64> {
    let small = lua.numbers.iter().filter(|n| n.abs() < 1 << 40);
    let near = small.flat_map(|n| [n - 1, *n, n + 1]).filter(|n| *n >= 0);
    near.dedup().take(40).collect()
}

/// Constants of the script, as arguments.
pub fn words(lua: &Lua) -> Words {
    // An order id of * is one that the module makes.
    let is_word = |text: &&String| {
        let is_command = lua.commands.contains(&text.to_uppercase());
        (1..40).contains(&text.len()) && *text != "*" && !is_command
    };
    let texts = lua.texts.iter().filter(is_word).take(30).cloned();
    let numbers = numbers(lua).into_iter().map(|number| number.to_string());
    numbers.chain(texts).map(String::into_bytes).collect()
}

/// Other amounts, leases and numbers for the roles that are no ids.
pub fn vary(values: &mut Values, act: &Act, numbers: &[i64], rng: &mut Rng) {
    let in_seconds = act.lease.as_ref().is_some_and(|own| own.1);
    let unit = if in_seconds { 1000 } else { 1 };
    let range = 10_000 / unit..80_000_000 / unit;
    let near = numbers.iter().copied().filter(|number| range.contains(number));
    let leases = LEASES.into_iter().map(|lease| lease / unit).chain(near).collect_vec();
    let units = UNITS[rng.usize(..UNITS.len())];
    let lease = leases[rng.usize(..leases.len())];
    let usual = [&USUAL[..], numbers].concat();
    for (role, value) in values {
        let number = match role {
            Role::Units => units,
            Role::Lease => lease,
            Role::Other(_) if act.deed == Deed::Return => units,
            Role::Other(_) if !act.is_of_stock() => lease,
            Role::Other(_) => usual[rng.usize(..usual.len())],
            _ => continue,
        };
        *value = number.to_string().into_bytes();
    }
}
