//! Where facts live in ordinary keys: one file per kind of key, and what is kept of their names.

pub(crate) mod apply;
pub(crate) mod book;
pub(crate) mod book_steps;
pub(crate) mod buyers;
pub(crate) mod configured;
pub(crate) mod counter;
pub(crate) mod dead_letters;
mod entries;
pub(crate) mod fence;
pub(crate) mod fields;
pub(crate) mod groups;
pub(crate) mod kept;
mod lasting;
pub(crate) mod lock;
pub(crate) mod names;
mod opened;
pub(crate) mod orders;
pub(crate) mod pool;
pub(crate) mod presence;
pub(crate) mod prizes;
pub(crate) mod rules;
pub(crate) mod sale;
pub(crate) mod sale_keys;
pub(crate) mod stock;
mod timed;
pub(crate) mod voucher_keys;
mod whole;
