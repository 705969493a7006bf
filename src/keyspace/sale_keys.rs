//! The keys of one sale, by name.

use crate::error::CommandError;
use crate::server::Str;
use domain::facts::Needed;

/// The keys that an unmanaged try touches. `orders` is none where no stream is kept.
#[derive(Clone, Copy)]
pub(crate) struct SaleKeys<'k> {
    pub(crate) stock: Str<'k>,
    pub(crate) buyers: Str<'k>,
    pub(crate) orders: Option<Str<'k>>,
}

impl SaleKeys<'_> {
    /// Refuses keys of which two have the same name: the stock of one would be the set of the
    /// other.
    pub(crate) fn check_differ(&self) -> Result<(), CommandError> {
        let (stock, buyers) = (self.stock.bytes(), self.buyers.bytes());
        let orders = self.orders.map(Str::bytes);
        if stock == buyers || orders == Some(stock) || orders == Some(buyers) {
            return Err(CommandError::SameKeys);
        }
        Ok(())
    }
}

/// The keys of a managed voucher.
#[derive(Clone, Copy)]
pub(crate) struct ManagedKeys<'k> {
    /// The voucher's one name in the entries of streams.
    pub(crate) voucher: Str<'k>,
    pub(crate) sale: SaleKeys<'k>,
    pub(crate) rules: Str<'k>,
    /// Order id to order.
    pub(crate) book: Str<'k>,
    /// User to units.
    pub(crate) units: Str<'k>,
    /// Order ids by deadline.
    pub(crate) holds: Str<'k>,
    /// Units of held orders beyond the first of each.
    pub(crate) extra: Str<'k>,
    /// Order ids that wait, by ticket.
    pub(crate) wait: Str<'k>,
    /// Reference to payment.
    pub(crate) payments: Str<'k>,
    /// Order id to units that were taken off the sale for it.
    pub(crate) outside: Str<'k>,
    /// The id of the last sale.
    pub(crate) last: Str<'k>,
    /// The stream of releases; none where no stream is kept.
    pub(crate) released: Option<Str<'k>>,
    /// The stream of confirmed orders; none where none is kept.
    pub(crate) confirmed: Option<Str<'k>>,
}

/// Every key of a managed voucher, by what becomes of it.
pub(crate) struct AllKeys<'k> {
    /// Deleted with the sale.
    pub(crate) own: [Str<'k>; 9],
    /// Those that outlive it.
    pub(crate) lasting: [Str<'k>; 2],
    /// The streams, which vouchers share; none where none is kept.
    pub(crate) streams: [Option<Str<'k>>; 3],
}

impl<'k> AllKeys<'k> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Str<'k>> {
        let keys = self.own.iter().chain(&self.lasting).copied();
        keys.chain(self.streams.iter().copied().flatten())
    }
}

impl<'k> ManagedKeys<'k> {
    /// A key that a sale may lack.
    pub(crate) fn needed(self, part: Needed) -> Str<'k> {
        match part {
            Needed::Rules => self.rules,
            Needed::Stock => self.sale.stock,
            Needed::Buyers => self.sale.buyers,
            Needed::Book => self.book,
            Needed::Units => self.units,
            Needed::Extra => self.extra,
            Needed::Holds => self.holds,
            Needed::Queue => self.wait,
            Needed::Payments => self.payments,
        }
    }

    /// Every key. Names each field, so that a new kind of key does not compile until it is in one
    /// of the groups.
    pub(crate) fn all(self) -> AllKeys<'k> {
        let Self {
            voucher: _,
            sale,
            rules,
            book,
            units,
            holds,
            extra,
            wait,
            payments,
            outside,
            last,
            released,
            confirmed,
        } = self;
        let SaleKeys { stock, buyers, orders } = sale;
        AllKeys {
            own: [stock, buyers, rules, book, units, holds, extra, wait, outside],
            lasting: [payments, last],
            streams: [orders, released, confirmed],
        }
    }
}
