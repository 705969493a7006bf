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
use domain::key_names::{
    BOOK_PREFIX, EXTRA_PREFIX, HOLDS_PREFIX, LAST_PREFIX, OUTSIDE_PREFIX, PAYMENTS_PREFIX,
    RULES_PREFIX, UNITS_PREFIX, WAIT_PREFIX, entry_name,
};
use domain::rules::{Millis, Rules};
use domain::sale::Stock;
use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::rc::Rc;

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
    /// The rules read last. They are a function of the JSON beside them, so they can't be stale.
    read_rules: Kept<ReadRules>,
    /// The database in which the voucher is known to have no rules, or none.
    unmanaged_in: Cell<Option<i32>>,
    /// The database in which no hold is due before a moment, and the moment.
    none_due: Cell<Option<(i32, Millis)>>,
    /// The database in which nobody waits for units, or none.
    pub(super) none_waits_in: Cell<Option<i32>>,
    /// The database that has no extra units, or none.
    pub(super) none_extra_in: Cell<Option<i32>>,
    /// The log has said that the extra units can't be read.
    pub(super) is_extra_reported: Cell<bool>,
    /// How many units the log has said to be in the stock that are not for sale.
    surplus: Cell<i64>,
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
    pub(super) fn new(configured: Rc<Configured>, voucher: &[u8]) -> Result<Self, CommandError> {
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
            read_rules: Kept::default(),
            unmanaged_in: Cell::new(None),
            none_due: Cell::new(None),
            none_waits_in: Cell::new(None),
            none_extra_in: Cell::new(None),
            is_extra_reported: Cell::new(false),
            surplus: Cell::new(0),
            whole_in: Cell::new(None),
        })
    }

    /// Are these the keys of `voucher`, by the settings as they are now?
    #[inline]
    pub(super) fn are_of(&self, voucher: &[u8]) -> bool {
        self.is_current() && self.voucher == voucher
    }

    /// Has no setting about names changed since?
    pub(super) fn is_current(&self) -> bool {
        self.configured.is_current()
    }

    /// The voucher, as it was spelled.
    pub(super) fn voucher(&self) -> &[u8] {
        &self.voucher
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

/// What is known of the keys, until an event says otherwise.
impl VoucherKeys {
    /// The voucher's rules; none when it is not managed, which is remembered for its database.
    #[inline]
    pub(crate) fn rules_in(&self, ctx: Ctx<'_>) -> Result<Option<Rules>, CommandError> {
        if self.is_known_unmanaged(ctx) {
            return Ok(None);
        }
        let rules = self.read_rules(ctx)?;
        if rules.is_none() {
            self.unmanaged_in.set(Some(ctx.selected_db()));
        }
        Ok(rules)
    }

    /// The rules that are there.
    #[inline]
    pub(super) fn read_rules(&self, ctx: Ctx<'_>) -> Result<Option<Rules>, CommandError> {
        rules::read(&self.read_rules, ctx, self.rules())
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
    /// this must be checked again: see [`super::vouchers`].
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

    /// Something happened to the rules, in whichever database.
    pub(super) fn rules_changed(&self) {
        self.unmanaged_in.set(None);
        self.whole_in.set(None);
    }

    /// Something happened to the holds, in whichever database.
    pub(super) fn holds_changed(&self) {
        self.none_due.set(None);
    }

    /// Something happened to the queue, in whichever database.
    pub(super) fn queue_changed(&self) {
        self.none_waits_in.set(None);
    }

    /// Something happened to the extra units, in whichever database.
    pub(super) fn extra_changed(&self) {
        self.none_extra_in.set(None);
        self.is_extra_reported.set(false);
    }

    /// One of the keys may have left, in whichever database.
    pub(super) fn may_have_left(&self) {
        self.whole_in.set(None);
        self.none_extra_in.set(None);
    }

    /// Remembers that so many units of the stock are not for sale. True if that is news.
    #[inline]
    pub(super) fn is_more_surplus(&self, units: i64) -> bool {
        self.surplus.replace(units) < units
    }

    /// Do the voucher's orders go to this stream, or what becomes of them?
    pub(super) fn has_stream(&self, key: &[u8]) -> bool {
        let orders = self.sale.get().and_then(|names| names.orders.as_ref());
        let others = self.managed.get().map(|names| [&names.released, &names.confirmed]);
        let others = others.into_iter().flatten().flatten();
        orders.into_iter().chain(others).any(|stream| stream.as_str().bytes() == key)
    }
}
