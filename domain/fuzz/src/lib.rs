//! Properties of the pure parts of the module and of the worker that must hold for any bytes.
//!
//! Each function of [`ORACLES`] makes from its bytes what a client could send or another program's
//! key could contain, passes it to the part, and compares the result with what was written, or with
//! a model that is too simple to be wrong. It panics if they differ.
//!
//! In `fuzz_targets/oracle.rs`, libFuzzer finds the bytes (`make fuzz`). This file is also the test
//! `pure` of the module's own workspace, which tries random bytes and all of `seeds` without it.
//!
//! The parts are in the crate `domain`. Parts that need a server are tested by the fuzzer of
//! commands instead.

mod input;
mod oracles;

/// Panics if a property does not hold for these bytes.
pub type Oracle = fn(&[u8]);

/// All oracles, with their names, which are also those of the folders of their seeds.
pub const ORACLES: [(&str, Oracle); 14] = [
    ("audit", oracles::audit::audits),
    ("book", oracles::texts::book),
    ("entry_id", oracles::texts::entry_id),
    ("ids", oracles::numbers::ids),
    ("integer", oracles::texts::integers),
    ("queues", oracles::queues::queues),
    ("numbers", oracles::numbers::stocks),
    ("order_entry", oracles::entries::order_entry),
    ("prefixes", oracles::texts::prefixes),
    ("rules", oracles::texts::rules),
    ("scripts", oracles::scripts::scripts),
    ("sessions", oracles::sessions::sessions),
    ("tags", oracles::texts::tags),
    ("unit_sets", oracles::unit_sets::unit_sets),
];

/// The oracle of this name.
pub fn oracle(name: &str) -> Oracle {
    let found = ORACLES.into_iter().find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("no oracle {name}")).1
}

#[cfg(test)]
mod tests;
