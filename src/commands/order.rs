//! An order, as the commands that make, release or reject it pass it on.

use crate::args::{Args, check_len};
use crate::error::CommandError;
use crate::keyspace::fields::EntryValues;
use crate::server::{OwnedStr, Str};
use crate::typed::{OrderId, User, Voucher};
use domain::integer::Decimal;
use domain::sale::Units;

/// An order, made or not yet.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) voucher: Voucher<'a>,
    pub(super) user: User<'a>,
    pub(super) id: OrderId<'a>,
    pub(super) units: Units,
}

/// Fields that only entries of a managed voucher's orders have; None leaves the field out.
#[derive(Clone, Copy, Default)]
pub(super) struct ManagedValues<'a> {
    /// The deadline of a held order.
    pub(super) deadline: Option<Str<'a>>,
    pub(super) sale: Option<Str<'a>>,
}

impl<'a> Order<'a> {
    /// Reads `voucher user orderid`, for one unit.
    pub(super) fn parse(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let (voucher, user) = (args.next()?, args.next()?);
        Ok(Self { voucher, user, id: args.next()?, units: Units::ONE })
    }

    /// The entry's fields, for an order with no other known values. `units` comes from
    /// [`Order::units_text`].
    pub(super) fn values(&self, units: Option<Str<'a>>) -> EntryValues<'a> {
        EntryValues {
            user: self.user.0,
            voucher: self.voucher.0,
            id: self.id.0,
            units,
            deadline: None,
            sale: None,
            reference: None,
            reason: None,
            was: None,
        }
    }

    /// The units as the entry has them; None for one unit, which the entry does not mention.
    pub(super) fn units_text(&self) -> Option<OwnedStr> {
        (self.units != Units::ONE).then(|| OwnedStr::new(Decimal::new(self.units.get()).bytes()))
    }

    /// Refuses a user or an order id that is too long, in a batch, whose arguments were not checked
    /// when they were read.
    pub(super) fn check_lens(&self) -> Result<(), CommandError> {
        check_len::<User<'_>>(self.user.0)?;
        check_len::<OrderId<'_>>(self.id.0)
    }
}
