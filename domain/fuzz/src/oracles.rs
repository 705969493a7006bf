//! The properties to check, and the models to compare with.

pub(crate) mod audit;
pub(crate) mod entries;
pub(crate) mod numbers;
pub(crate) mod queues;
pub(crate) mod scripts;
pub(crate) mod sessions;
pub(crate) mod texts;
pub(crate) mod unit_sets;
