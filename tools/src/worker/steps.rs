//! The steps of an order for the shop's own statements, with the values that these may name.

pub use domain::account::Event as Change;
use domain::book::State;

use crate::order_events::OrderKey;

/// A step of an order, with its own figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub change: Change,
    /// None for a new order.
    pub old: Option<State>,
    pub new: State,
    /// The units that the step is about, and those that the order has after it.
    pub units: i64,
    pub kept: i64,
    /// The payment, once the order is paid; none where there is nothing to refund.
    pub reference: Option<String>,
    pub key: OrderKey,
    pub deadline_ms: Option<i64>,
}
