//! An order, as the commands that make, release or reject it pass it on.

use crate::args::{Args, check_len};
use crate::error::CommandError;
use crate::typed::{OrderId, User, Voucher};
use domain::sale::Units;

/// An order, made or not yet.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) voucher: Voucher<'a>,
    pub(super) user: User<'a>,
    pub(super) id: OrderId<'a>,
    pub(super) units: Units,
}

impl<'a> Order<'a> {
    /// Reads `voucher user orderid`, for one unit.
    pub(super) fn parse(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let (voucher, user) = (args.next()?, args.next()?);
        Ok(Self { voucher, user, id: args.next()?, units: Units::ONE })
    }

    /// Refuses a user or an order id that is too long: one of a batch, which were not checked when
    /// they were read.
    pub(super) fn check_lens(&self) -> Result<(), CommandError> {
        check_len::<User<'_>>(self.user.0)?;
        check_len::<OrderId<'_>>(self.id.0)
    }
}
