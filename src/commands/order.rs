//! An order, as the commands that make, release or reject it pass it on.

use crate::args::Args;
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

    /// Refuses ids of which an entry of a stream might not hold all, being limited to 1 GiB.
    pub(super) fn check_fits(&self) -> Result<(), CommandError> {
        const MAX: usize = 128 << 20;
        for (argument, id) in
            [("voucher", self.voucher.0), ("user", self.user.0), ("orderid", self.id.0)]
        {
            if id.bytes().len() > MAX {
                return Err(CommandError::TooLong { argument, max: MAX });
            }
        }
        Ok(())
    }
}
