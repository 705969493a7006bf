//! Where facts live in ordinary keys: one file a kind of key, and the only place that spells one.

pub(crate) mod book;
pub(crate) mod buyers;
pub(crate) mod counter;
pub(crate) mod fence;
pub(crate) mod fields;
pub(crate) mod groups;
pub(crate) mod letters;
pub(crate) mod lock;
pub(crate) mod names;
pub(crate) mod orders;
pub(crate) mod pool;
pub(crate) mod prefixes;
pub(crate) mod prizes;
pub(crate) mod recent;
mod short;
pub(crate) mod stock;
mod style;
pub(crate) mod terms;
