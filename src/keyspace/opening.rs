//! A voucher as a command finds it: its name, its keys, and that these are on this node.

use crate::error::CommandError;
use crate::keyspace::presence::Reach;
use crate::keyspace::rules::check_primary;
use crate::keyspace::sale_keys::SaleKeys;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::keyspace::vouchers::Vouchers;
use crate::server::Ctx;
use crate::typed::Voucher;
use domain::carts::ARTICLES_MAX;
use domain::few::Few;
use domain::sale::Units;
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
        articles: impl Iterator<Item = (Voucher<'a>, Units)>,
        openings: &mut Openings<'a>,
    ) -> Result<(), CommandError> {
        for (voucher, units) in articles {
            let (keys, reach) = (vouchers.keys(voucher)?, Reach::Whole);
            openings.push((Self { ctx, voucher, keys, reach }, units));
        }
        check_apart(openings)?;
        for (opening, _) in openings.iter_mut() {
            opening.reach = opening.keys.reach(ctx)?;
        }
        Ok(())
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

impl Opening<'_> {
    /// The keys that no other voucher may have.
    fn own(&self) -> Result<[&[u8]; 2], CommandError> {
        let SaleKeys { stock, buyers, .. } = self.keys.sale()?;
        Ok([stock.bytes(), buyers.bytes()])
    }
}

/// The articles of a cart, and how many units of each.
pub(crate) type Openings<'a> = Few<(Opening<'a>, Units), ARTICLES_MAX>;

/// Refuses vouchers of which two have a key in common. Other keys than stocks and buyers are never
/// of two vouchers, but for streams, which each voucher keeps apart from its own keys.
fn check_apart(openings: &Openings<'_>) -> Result<(), CommandError> {
    for (number, (opening, _)) in openings.iter().enumerate() {
        let keys = opening.own()?;
        for (before, _) in openings.iter().take(number) {
            if before.own()?.iter().any(|key| keys.contains(key)) {
                return Err(CommandError::SameVoucher);
            }
        }
    }
    Ok(())
}
