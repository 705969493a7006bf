//! The target of a ratio or a time of one run.

use serde::Serialize;

#[derive(Serialize)]
pub struct Target {
    pub what: &'static str,
    pub wanted: f64,
    pub measured: f64,
    pub reached: bool,
}

impl Target {
    /// None if nothing was measured.
    pub fn at_least(what: &'static str, wanted: f64, measured: Option<f64>) -> Option<Self> {
        let measured = measured?;
        Some(Self { what, wanted, measured, reached: measured >= wanted })
    }

    pub fn at_most(what: &'static str, wanted: f64, measured: Option<f64>) -> Option<Self> {
        let measured = measured?;
        Some(Self { what, wanted, measured, reached: measured <= wanted })
    }
}
