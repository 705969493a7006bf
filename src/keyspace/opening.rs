//! A voucher as a command finds it: its name, its keys, and that these are on this node.

use crate::error::CommandError;
use crate::keyspace::presence::Reach;
use crate::keyspace::rules::check_primary;
use crate::keyspace::sale_keys::SaleKeys;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::keyspace::vouchers::Vouchers;
use crate::server::Ctx;
use crate::typed::Voucher;
use std::rc::Rc;

/// What a command begins with: made by one of the functions below, each of which refuses keys that
/// may be on another node.
pub(crate) struct Opening<'a> {
    pub(crate) ctx: Ctx<'a>,
    /// The voucher, as the client spells it.
    pub(crate) voucher: Voucher<'a>,
    pub(crate) keys: Rc<VoucherKeys>,
    pub(super) reach: Reach,
}

impl<'a> Opening<'a> {
    /// For a command on what usual sales have.
    pub(crate) fn new(
        ctx: Ctx<'a>,
        vouchers: &Vouchers,
        voucher: Voucher<'a>,
    ) -> Result<Self, CommandError> {
        Self::with(ctx, voucher, vouchers.keys(voucher)?)
    }

    /// The same, with keys that were made already.
    pub(crate) fn with(
        ctx: Ctx<'a>,
        voucher: Voucher<'a>,
        keys: Rc<VoucherKeys>,
    ) -> Result<Self, CommandError> {
        keys.check_here(ctx)?;
        Ok(Self { ctx, voucher, keys, reach: Reach::Whole })
    }

    /// For a try, which while a slot moves is content with what it touches.
    #[inline(always)]
    pub(crate) fn to_try(
        ctx: Ctx<'a>,
        vouchers: &Vouchers,
        voucher: Voucher<'a>,
    ) -> Result<Self, CommandError> {
        let keys = vouchers.keys(voucher)?;
        let reach = keys.reach(ctx)?;
        Ok(Self { ctx, voucher, keys, reach })
    }

    /// For the articles of a cart: no two of them may have a key in common.
    pub(crate) fn to_try_all(
        ctx: Ctx<'a>,
        vouchers: &Vouchers,
        named: impl Iterator<Item = Voucher<'a>>,
    ) -> Result<Vec<Self>, CommandError> {
        let named = named.map(|voucher| Ok((voucher, vouchers.keys(voucher)?)));
        let named = named.collect::<Result<Vec<_>, CommandError>>()?;
        check_apart(named.iter().map(|(_, keys)| keys))?;
        let opened = named.into_iter().map(|(voucher, keys)| {
            let reach = keys.reach(ctx)?;
            Ok(Self { ctx, voucher, keys, reach })
        });
        opened.collect()
    }

    /// For the end of a sale, which touches every key.
    pub(crate) fn to_end(
        ctx: Ctx<'a>,
        vouchers: &Vouchers,
        voucher: Voucher<'a>,
    ) -> Result<Self, CommandError> {
        let opening = Self::new(ctx, vouchers, voucher)?;
        opening.keys.check_all_here(ctx)?;
        check_primary(ctx)?;
        Ok(opening)
    }
}

/// Refuses vouchers of which two have a key in common. Other keys than stocks and buyers are never
/// of two vouchers, but for streams, which each voucher keeps apart from its own keys.
fn check_apart<'k>(
    vouchers: impl Iterator<Item = &'k Rc<VoucherKeys>>,
) -> Result<(), CommandError> {
    let mut seen: Vec<&[u8]> = Vec::new();
    for keys in vouchers {
        let SaleKeys { stock, buyers, .. } = keys.sale()?;
        let own = [stock.bytes(), buyers.bytes()];
        if own.iter().any(|key| seen.contains(key)) {
            return Err(CommandError::SameVoucher);
        }
        seen.extend(own);
    }
    Ok(())
}
