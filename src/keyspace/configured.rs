//! What the settings say about names: read once per change of a setting, not once per command.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::fields::OrderFields;
use crate::keyspace::kept::Kept;
use domain::hash_tag::StrayBraces;
use domain::key_names::{Naming, owner_of};
use std::rc::Rc;

/// The settings about names, as they were at one moment.
pub(crate) struct Configured {
    generation: u64,
    pub(super) stock_prefix: Vec<u8>,
    pub(super) buyers_prefix: Vec<u8>,
    /// Empty: no stream is kept.
    pub(super) order_stream: Vec<u8>,
    /// Beside the order stream there is one of confirmed orders.
    pub(super) keeps_confirmed: bool,
    hash_tags: bool,
    pub(crate) fields: OrderFields,
}

impl Configured {
    /// The settings as they are now.
    pub(crate) fn now(kept: &Kept<Self>) -> Rc<Self> {
        match kept.get() {
            Some(configured) if configured.is_current() => configured,
            _ => kept.keep(Self::read()),
        }
    }

    fn read() -> Self {
        Self {
            generation: config::naming_generation(),
            stock_prefix: config::STOCK_PREFIX.with(<[u8]>::to_vec),
            buyers_prefix: config::BUYERS_PREFIX.with(<[u8]>::to_vec),
            order_stream: config::ORDER_STREAM.with(<[u8]>::to_vec),
            keeps_confirmed: config::keeps_confirmed(),
            hash_tags: config::hash_tags(),
            fields: config::ORDER_FIELDS.with(OrderFields::configured),
        }
    }

    /// The voucher whose stock key may have this name.
    pub(super) fn voucher_of_stock(&self, key: &[u8]) -> Option<Vec<u8>> {
        owner_of(key, &self.stock_prefix, self.hash_tags)
    }

    /// Has no setting about names changed since?
    pub(super) fn is_current(&self) -> bool {
        self.generation == config::naming_generation()
    }

    /// How a voucher is written into the names of its keys.
    pub(super) fn naming<'v>(&self, voucher: &'v [u8]) -> Result<Naming<'v>, CommandError> {
        let prefixes = [&self.stock_prefix, &self.buyers_prefix, &self.order_stream];
        if self.hash_tags && prefixes.iter().any(|prefix| prefix.contains(&b'{')) {
            return Err(CommandError::BraceInPrefix);
        }
        Naming::of(voucher, self.hash_tags).map_err(|StrayBraces| CommandError::StrayBraces)
    }
}
