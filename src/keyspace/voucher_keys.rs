//! The names of a voucher's keys, made from the settings once per change, and what is known of
//! these keys for as long as no event says otherwise.

use crate::config::{self, is_another_key};
use crate::error::CommandError;
use crate::keyspace::configured::Configured;
use crate::keyspace::fields::OrderFields;
use crate::keyspace::kept::Kept;
use crate::keyspace::rules::ReadRules;
use crate::keyspace::sale_keys::{ManagedKeys, SaleKeys};
use crate::keyspace::{rules, stock};
use crate::server::{Ctx, OwnedStr, Str};
use crate::typed::Voucher;
use domain::key_names::{
    BOOK_PREFIX, EXTRA_PREFIX, HOLDS_PREFIX, LAST_PREFIX, OUTSIDE_PREFIX, PAYMENTS_PREFIX,
    RULES_PREFIX, UNITS_PREFIX, WAIT_PREFIX, entry_name,
};
use domain::rules::{Millis, Rules};
use domain::sale::Stock;
use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::ffi::CStr;
use std::rc::Rc;

/// What is kept for vouchers. Names are functions of a voucher and of the settings, and rules of
/// some JSON, so they can't be stale: each carries what it was made of. What is *known* of a
/// voucher's keys ends with events.
#[derive(Default)]
pub(crate) struct Vouchers {
    pub(crate) configured: Kept<Configured>,
    pub(crate) rules: Kept<ReadRules>,
    last: Kept<VoucherKeys>,
}

impl Vouchers {
    /// Handles an event of a key: what is known of the voucher tried last may be outdated.
    pub(crate) fn on_key(&self, event: &CStr, key: &[u8]) {
        if let Some(last) = self.last.get() {
            last.on_key(event, key);
        }
    }

    /// Any key may have changed, or the clock may have been set back: forgets what is known of the
    /// voucher tried last.
    pub(crate) fn forget_last(&self) {
        self.last.forget();
    }
}

/// The names of one voucher's keys, and what is known of the keys.
///
/// A losing try needs only a few names, so the others are made when first asked for.
pub(crate) struct VoucherKeys {
    configured: Rc<Configured>,
    voucher: Vec<u8>,
    stock: OwnedStr,
    rules: OwnedStr,
    sale: OnceCell<SaleNames>,
    managed: OnceCell<ManagedNames>,
    /// The database in which the voucher is known to have no rules, or none.
    unmanaged_in: Cell<Option<i32>>,
    /// The database in which no hold is due before a moment, and the moment.
    none_due: Cell<Option<(i32, Millis)>>,
    /// The database in which nobody waits for units, or none.
    pub(super) none_waits_in: Cell<Option<i32>>,
    /// In a cluster: the database whose keys were all seen to be on this node, or none. Other
    /// databases of the slot may move at another time.
    whole_in: Cell<Option<i32>>,
}

struct SaleNames {
    buyers: OwnedStr,
    orders: Option<OwnedStr>,
}

struct ManagedNames {
    voucher: OwnedStr,
    book: OwnedStr,
    units: OwnedStr,
    holds: OwnedStr,
    extra: OwnedStr,
    wait: OwnedStr,
    payments: OwnedStr,
    outside: OwnedStr,
    last: OwnedStr,
    released: Option<OwnedStr>,
    confirmed: Option<OwnedStr>,
}

impl VoucherKeys {
    /// The keys of `voucher`. Costs next to nothing for the voucher asked for last.
    #[inline]
    pub(crate) fn of(vouchers: &Vouchers, voucher: Voucher<'_>) -> Result<Rc<Self>, CommandError> {
        let voucher = voucher.0.bytes();
        match Self::kept(vouchers, voucher) {
            Some(last) => Ok(last),
            None => Self::make(vouchers, voucher),
        }
    }

    #[inline]
    fn kept(vouchers: &Vouchers, voucher: &[u8]) -> Option<Rc<Self>> {
        vouchers.last.get().filter(|last| last.configured.is_current() && last.voucher == voucher)
    }

    /// The keys of a voucher whose holds expire: those of the voucher tried last stay kept.
    pub(crate) fn of_background(
        vouchers: &Vouchers,
        voucher: Voucher<'_>,
    ) -> Result<Rc<Self>, CommandError> {
        Self::kept(vouchers, voucher.0.bytes())
            .map_or_else(|| Self::new(vouchers, voucher.0.bytes()).map(Rc::new), Ok)
    }

    /// Is this the stock of a managed voucher?
    pub(crate) fn is_stock_managed(
        vouchers: &Vouchers,
        ctx: Ctx<'_>,
        stock: Str<'_>,
    ) -> Result<bool, CommandError> {
        if let Some(last) = vouchers.last.get()
            && last.configured.is_current()
            && last.stock().bytes() == stock.bytes()
        {
            return Ok(last.rules_in(vouchers, ctx)?.is_some());
        }
        let configured = Configured::now(&vouchers.configured);
        let name = OwnedStr::new(&match configured.voucher_of_stock(stock.bytes()) {
            Some(voucher) => voucher,
            None => return Ok(false),
        });
        match Self::of(vouchers, Voucher(name.as_str())) {
            Ok(keys) if keys.stock().bytes() == stock.bytes() => {
                Ok(keys.rules_in(vouchers, ctx)?.is_some())
            }
            // Not the stock that any voucher's name leads to.
            _ => Ok(false),
        }
    }

    /// Makes and keeps the keys of another voucher than the last. Those of a long name, which an
    /// entry of a stream can have, are not kept.
    #[cold]
    fn make(vouchers: &Vouchers, voucher: &[u8]) -> Result<Rc<Self>, CommandError> {
        let keys = Self::new(vouchers, voucher)?;
        let is_short = voucher.len() <= config::name_bytes_max();
        Ok(if is_short { vouchers.last.keep(keys) } else { Rc::new(keys) })
    }

    fn new(vouchers: &Vouchers, voucher: &[u8]) -> Result<Self, CommandError> {
        let configured = Configured::now(&vouchers.configured);
        let naming = configured.naming(voucher)?;
        let stock = OwnedStr::new(&naming.key(&configured.stock_prefix));
        let rules = OwnedStr::new(&naming.key(RULES_PREFIX));
        Ok(Self {
            configured,
            voucher: voucher.to_vec(),
            stock,
            rules,
            sale: OnceCell::new(),
            managed: OnceCell::new(),
            unmanaged_in: Cell::new(None),
            none_due: Cell::new(None),
            none_waits_in: Cell::new(None),
            whole_in: Cell::new(None),
        })
    }

    pub(crate) fn stock(&self) -> Str<'_> {
        self.stock.as_str()
    }

    pub(crate) fn rules(&self) -> Str<'_> {
        self.rules.as_str()
    }

    pub(crate) fn fields(&self) -> &OrderFields {
        &self.configured.fields
    }

    /// The keys of a sale. An error when two of them are one, or one is of something else.
    #[inline]
    pub(crate) fn sale(&self) -> Result<SaleKeys<'_>, CommandError> {
        self.sale.get().map_or_else(|| self.first_sale(), |names| Ok(self.sale_of(names)))
    }

    #[cold]
    fn first_sale(&self) -> Result<SaleKeys<'_>, CommandError> {
        let names = self.make_sale()?;
        self.sale_of(&names).check_differ()?;
        if [self.stock(), names.buyers.as_str()].into_iter().any(|key| is_another_key(key.bytes()))
        {
            return Err(CommandError::AnotherKey);
        }
        Ok(self.sale_of(self.sale.get_or_init(|| names)))
    }

    fn make_sale(&self) -> Result<SaleNames, CommandError> {
        let naming = self.configured.naming(&self.voucher)?;
        let orders = match self.configured.order_stream.as_slice() {
            [] => None,
            stream => Some(OwnedStr::new(&naming.stream(stream))),
        };
        Ok(SaleNames { buyers: OwnedStr::new(&naming.key(&self.configured.buyers_prefix)), orders })
    }

    #[inline]
    fn sale_of<'k>(&'k self, names: &'k SaleNames) -> SaleKeys<'k> {
        SaleKeys {
            stock: self.stock(),
            buyers: names.buyers.as_str(),
            orders: names.orders.as_ref().map(OwnedStr::as_str),
        }
    }

    /// The keys of the voucher as a managed one. An error when two of them are one.
    #[inline]
    pub(crate) fn managed(&self) -> Result<ManagedKeys<'_>, CommandError> {
        match (self.sale.get(), self.managed.get()) {
            (Some(sale), Some(names)) => Ok(self.managed_of(self.sale_of(sale), names)),
            _ => self.first_managed(),
        }
    }

    #[cold]
    fn first_managed(&self) -> Result<ManagedKeys<'_>, CommandError> {
        let (sale, names) = (self.sale()?, self.make_managed()?);
        check_all_differ(self.managed_of(sale, &names))?;
        Ok(self.managed_of(sale, self.managed.get_or_init(|| names)))
    }

    fn make_managed(&self) -> Result<ManagedNames, CommandError> {
        let naming = self.configured.naming(&self.voucher)?;
        let key = |prefix| OwnedStr::new(&naming.key(prefix));
        let orders = Some(self.configured.order_stream.as_slice());
        let orders = orders.filter(|stream| !stream.is_empty());
        let released = orders.map(|stream| OwnedStr::new(&naming.released_stream(stream)));
        let confirmed = orders
            .filter(|_| self.configured.keeps_confirmed)
            .map(|stream| OwnedStr::new(&naming.confirmed_stream(stream)));
        let voucher = OwnedStr::new(entry_name(&self.voucher, config::hash_tags()));
        Ok(ManagedNames {
            voucher,
            book: key(BOOK_PREFIX),
            units: key(UNITS_PREFIX),
            holds: key(HOLDS_PREFIX),
            extra: key(EXTRA_PREFIX),
            wait: key(WAIT_PREFIX),
            payments: key(PAYMENTS_PREFIX),
            outside: key(OUTSIDE_PREFIX),
            last: key(LAST_PREFIX),
            released,
            confirmed,
        })
    }

    #[inline]
    fn managed_of<'k>(&'k self, sale: SaleKeys<'k>, names: &'k ManagedNames) -> ManagedKeys<'k> {
        ManagedKeys {
            voucher: names.voucher.as_str(),
            sale,
            rules: self.rules(),
            book: names.book.as_str(),
            units: names.units.as_str(),
            holds: names.holds.as_str(),
            extra: names.extra.as_str(),
            wait: names.wait.as_str(),
            payments: names.payments.as_str(),
            outside: names.outside.as_str(),
            last: names.last.as_str(),
            released: names.released.as_ref().map(OwnedStr::as_str),
            confirmed: names.confirmed.as_ref().map(OwnedStr::as_str),
        }
    }
}

/// Refuses configured names that are also those of a managed voucher's own keys.
fn check_all_differ(keys: ManagedKeys<'_>) -> Result<(), CommandError> {
    let mut seen = HashSet::new();
    let are_new = keys.all().iter().all(|key| seen.insert(key.bytes()));
    if are_new { Ok(()) } else { Err(CommandError::SameKeys) }
}

/// The events of a key that leaves this node, or at least this name.
pub(crate) const DEPARTURES: [&CStr; 5] =
    [c"del", c"expired", c"evicted", c"rename_from", c"move_from"];

/// What is known of the keys, until an event says otherwise.
impl VoucherKeys {
    /// The voucher's rules; none when it is not managed, which is remembered for its database.
    #[inline]
    pub(crate) fn rules_in(
        &self,
        vouchers: &Vouchers,
        ctx: Ctx<'_>,
    ) -> Result<Option<Rules>, CommandError> {
        if self.is_known_unmanaged(ctx) {
            return Ok(None);
        }
        let rules = rules::read(&vouchers.rules, ctx, self.rules())?;
        if rules.is_none() {
            self.unmanaged_in.set(Some(ctx.selected_db()));
        }
        Ok(rules)
    }

    #[inline]
    pub(super) fn is_known_unmanaged(&self, ctx: Ctx<'_>) -> bool {
        self.unmanaged_in.get() == Some(ctx.selected_db())
    }

    /// Is it known that no hold of this database is due at `now`?
    pub(crate) fn is_none_due(&self, db: i32, now: Millis) -> bool {
        self.none_due.get().is_some_and(|(known, from)| known == db && now < from)
    }

    /// Remembers that no hold of this database is due before `from`.
    pub(crate) fn set_none_due(&self, db: i32, from: Millis) {
        self.none_due.set(Some((db, from)));
    }

    /// The stock. In a cluster, where all keys are known to be here, a missing stock means that
    /// this must be checked again: see [`VoucherKeys::on_key`].
    #[inline]
    pub(crate) fn read_stock(&self, ctx: Ctx<'_>) -> Result<Stock, CommandError> {
        let stock = stock::read(ctx, self.stock())?;
        if stock == Stock::Missing && self.is_known_whole(ctx) {
            self.whole_in.set(None);
            self.check_here(ctx)?;
        }
        Ok(stock)
    }

    /// A key that has the name of the voucher itself, which is in its slot.
    pub(super) fn voucher_as_key(&self) -> OwnedStr {
        OwnedStr::new(&self.voucher)
    }

    pub(super) fn is_known_whole(&self, ctx: Ctx<'_>) -> bool {
        self.whole_in.get().is_some_and(|db| db == ctx.selected_db())
    }

    pub(super) fn set_known_whole(&self, ctx: Ctx<'_>, is_whole: bool) {
        self.whole_in.set(is_whole.then(|| ctx.selected_db()));
    }

    /// Something happened to a key, in whichever database.
    ///
    /// - That the voucher has no rules ends with any event of the rules key: `new` comes before any
    ///   command can see a key that appears.
    /// - That no hold is due ends with any event of the holds key but those of strings, which are
    ///   not heard: where somebody has written SET over the holds, a try at the limit says so, and
    ///   the key's type is seen by the next one that looks.
    /// - That nobody waits is known while there is no line, and ends with any event of its key.
    /// - That all keys are here ends when one of them leaves: a key that is migrated fires `del`.
    ///   Keys of a slot that is lost at once are deleted without an event by Redis 7.0, the stock
    ///   among them: a stock that appears ends it too, and it is not believed where the stock is
    ///   missing ([`VoucherKeys::read_stock`]). Where a key has the voucher's own name it is never
    ///   remembered, since the source of a move then goes on to answer. So a slot that returns key
    ///   by key is asked again.
    fn on_key(&self, event: &CStr, key: &[u8]) {
        let managed = self.managed.get();
        if self.rules().bytes() == key {
            self.unmanaged_in.set(None);
            self.whole_in.set(None);
        } else if managed.is_none_or(|names| names.holds.as_str().bytes() == key) {
            self.none_due.set(None);
        } else if managed.is_some_and(|names| names.wait.as_str().bytes() == key) {
            self.none_waits_in.set(None);
        }
        let is_own_name = self.voucher == key;
        if self.whole_in.get().is_some()
            && (is_own_name || self.leaves(event, key) || self.stock_appears(event, key))
        {
            self.whole_in.set(None);
        }
    }

    fn stock_appears(&self, event: &CStr, key: &[u8]) -> bool {
        event == c"new" && self.stock().bytes() == key
    }

    fn leaves(&self, event: &CStr, key: &[u8]) -> bool {
        let is_it = |name: Str<'_>| name.bytes() == key;
        DEPARTURES.contains(&event)
            && match (self.sale.get(), self.managed.get()) {
                (Some(sale), Some(names)) => {
                    self.managed_of(self.sale_of(sale), names).all().iter().any(is_it)
                }
                (Some(sale), None) => {
                    let SaleKeys { stock, buyers, orders } = self.sale_of(sale);
                    [stock, buyers, self.rules()].into_iter().chain(orders).any(is_it)
                }
                (None, _) => [self.stock(), self.rules()].into_iter().any(is_it),
            }
    }
}
