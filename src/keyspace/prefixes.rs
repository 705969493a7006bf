//! How the keys of managed vouchers and of pools begin, and what a name tells of its key.

use crate::config;
use crate::rules::hash_tag::{Tagged, tagged};

/// What comes before the voucher in the names of a managed voucher's keys.
pub(super) const TERMS_PREFIX: &[u8] = b"seckill:voucher:";
pub(super) const BOOK_PREFIX: &[u8] = b"seckill:book:";
pub(super) const HOLDINGS_PREFIX: &[u8] = b"seckill:buyer:";
pub(crate) const HOLDS_PREFIX: &[u8] = b"seckill:hold:";

/// What comes before the pool in the names of its keys.
pub(super) const CODES_PREFIX: &[u8] = b"seckill:codes:";
pub(super) const WINNERS_PREFIX: &[u8] = b"seckill:winners:";

/// Could this be the name of a terms key?
pub(crate) fn is_terms_name(key: &[u8]) -> bool {
    key.starts_with(TERMS_PREFIX)
}

/// Could this be the name of a holds key?
pub(crate) fn is_holds_name(key: &[u8]) -> bool {
    key.starts_with(HOLDS_PREFIX)
}

/// The name of the holds key of the voucher whose terms have this name.
pub(crate) fn holds_name_of_terms(key: &[u8]) -> Option<Vec<u8>> {
    key.strip_prefix(TERMS_PREFIX).map(|voucher| [HOLDS_PREFIX, voucher].concat())
}

/// The voucher whose holds have this name. Of `{7}` and `7`, whose keys are the same where hash
/// tags are on, it is `7`.
pub(crate) fn voucher_of_holds(key: &[u8]) -> Option<Vec<u8>> {
    let voucher = key.strip_prefix(HOLDS_PREFIX)?;
    if let Some(inner) = voucher.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"))
        && config::hash_tags()
        && tagged(inner) == Ok(Tagged::Wrapped)
    {
        return Some(inner.to_vec());
    }
    Some(voucher.to_vec())
}
