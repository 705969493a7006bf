//! What must hold, and the models that tell.

pub(crate) mod entries;
pub(crate) mod lines;
pub(crate) mod numbers;
pub(crate) mod sale;
pub(crate) mod texts;
