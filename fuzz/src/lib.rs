//! What must hold of the pure parts of the module and of the worker, whatever bytes they get.
//!
//! Each function of [`ORACLES`] makes of its bytes what a client or somebody else's key could
//! hold, gives it to the part, and compares: with what was written, or with a model that is too
//! simple to be wrong. It panics where they differ.
//!
//! `fuzz_targets` has libFuzzer find the bytes (`make fuzz`). As the test `pure` of the module's
//! own workspace this file tries random ones, and all of `seeds`, without any of that.
//!
//! The parts are those of the crate `domain`. What needs a server is tested by the fuzzer of
//! commands instead.

mod input;
mod oracles;

/// Panics when something does not hold for these bytes.
pub type Oracle = fn(&[u8]);

/// All of them, by the names of their targets and of the folders of their seeds.
pub const ORACLES: [(&str, Oracle); 17] = [
    ("audit", oracles::sale::audits),
    ("batch", oracles::batches::batches),
    ("book", oracles::texts::book),
    ("due", oracles::due::due),
    ("entry_id", oracles::texts::entry_id),
    ("ids", oracles::numbers::ids),
    ("integer", oracles::texts::integers),
    ("numbers", oracles::numbers::stocks),
    ("order_entry", oracles::entries::order_entry),
    ("prefixes", oracles::texts::prefixes),
    ("rows", oracles::entries::rows),
    ("sale", oracles::sale::sales),
    ("scripts", oracles::scripts::scripts),
    ("sessions", oracles::sessions::sessions),
    ("tags", oracles::texts::tags),
    ("terms", oracles::texts::terms),
    ("waiters", oracles::waiters::waiters),
];

/// The oracle of a target.
pub fn oracle(name: &str) -> Oracle {
    let found = ORACLES.into_iter().find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("no oracle {name}")).1
}

#[cfg(test)]
mod tests;
