//! The facts of one voucher, as decisions ask for them, read from its keys.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::buyers::{self, Buyer};
use crate::keyspace::dead_letters::Rejected;
use crate::keyspace::fields::EntryNames;
use crate::keyspace::names::Name;
use crate::keyspace::opened::Opened;
use crate::keyspace::opening::Opening;
use crate::keyspace::orders::Orders;
use crate::keyspace::presence::Reach;
use crate::keyspace::rules::{self, check_primary};
use crate::keyspace::sale_keys::{ManagedKeys, SaleKeys};
use crate::keyspace::stock;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::server::{Ctx, Kind, OwnedStr, Str};
use crate::typed::{User, Voucher};
use domain::book::{Entry, Has, UserUnits};
use domain::facts::{Facts, First, FirstDue, Needed, Queue, Stream};
use domain::payments::Payment;
use domain::rules::{Millis, Rules, SaleId};
use domain::sale::{Policy, Stock, Units};
use domain::waitlist::PROMOTED_MAX;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;

/// The sale of one voucher, as found by one command: its facts, and by [`Sale::apply`] the one way
/// to change them.
pub(crate) struct Sale<'a> {
    pub(super) ctx: Ctx<'a>,
    /// The voucher, as the client spells it.
    voucher: Str<'a>,
    keys: Keys<'a>,
    pub(super) rejected: Option<&'a Rejected<'a>>,
    /// Made when first needed, which most tries never do.
    more: OnceCell<More<'a>>,
}

/// What a sale has open, each key by one handle, and what was found out already.
#[derive(Default)]
pub(super) struct More<'a> {
    rules: Cell<Option<Rules>>,
    pub(super) now: Cell<Option<Millis>>,
    /// An operator has said that no key is yet to come.
    pub(super) is_as_found: Cell<bool>,
    /// How many of the queue this command has promoted.
    promoted: Cell<usize>,
    /// Which users of a batch are among the buyers, where that was asked for all at once.
    pub(super) bought: RefCell<Option<HashSet<Name<'a>>>>,
    pub(super) streams: RefCell<[Option<(Stream, Orders<'a>)>; 2]>,
    managed: OnceCell<OpenedBook<'a>>,
}

/// The keys of a managed sale only.
#[derive(Default)]
pub(super) struct OpenedBook<'a> {
    pub(super) book: Opened<'a>,
    pub(super) units: Opened<'a>,
    pub(super) holds: Opened<'a>,
    pub(super) payments: Opened<'a>,
    pub(super) wait: Opened<'a>,
}

/// Where the keys of a sale are.
#[derive(Clone, Copy)]
enum Keys<'a> {
    /// Derived from the voucher.
    Derived(&'a Opening<'a>),
    /// Spelled out by the client, for a sale without rules.
    Given { keys: SaleKeys<'a>, names: EntryNames<'a>, policy: Policy },
}

impl<'a> Sale<'a> {
    /// The sale of a voucher.
    #[inline]
    pub(crate) fn of(opening: &'a Opening<'a>) -> Self {
        let (ctx, voucher) = (opening.ctx, opening.voucher.0);
        let keys = Keys::Derived(opening);
        Self { ctx, voucher, keys, rejected: None, more: OnceCell::new() }
    }

    /// A sale on keys that the client names.
    pub(crate) fn on(
        ctx: Ctx<'a>,
        voucher: Voucher<'a>,
        keys: SaleKeys<'a>,
        names: EntryNames<'a>,
        policy: Policy,
    ) -> Self {
        let keys = Keys::Given { keys, names, policy };
        Self { ctx, voucher: voucher.0, keys, rejected: None, more: OnceCell::new() }
    }

    /// The sale, for the rejection of an entry.
    pub(crate) fn with_rejected(self, rejected: &'a Rejected<'a>) -> Self {
        Self { rejected: Some(rejected), ..self }
    }

    #[inline]
    pub(super) fn more(&self) -> &More<'a> {
        self.more.get_or_init(More::default)
    }

    #[inline]
    pub(super) fn opened(&self) -> &OpenedBook<'a> {
        self.more().managed.get_or_init(OpenedBook::default)
    }

    /// Refuses to touch keys that may be on another node.
    fn check_reach(&self) -> Result<(), CommandError> {
        match self.keys {
            Keys::Derived(opening) if opening.reach != Reach::Whole => Err(CommandError::TryAgain),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(super) fn sale_keys(&self) -> Result<SaleKeys<'a>, CommandError> {
        match self.keys {
            Keys::Derived(opening) => opening.keys.sale(),
            Keys::Given { keys, .. } => Ok(keys),
        }
    }

    /// The keys of a managed voucher, and of the releases of any.
    #[inline]
    pub(crate) fn managed_keys(&self) -> Result<ManagedKeys<'a>, CommandError> {
        match self.keys {
            Keys::Derived(opening) => opening.keys.managed(),
            Keys::Given { .. } => Err(CommandError::NotManaged),
        }
    }

    pub(super) fn entry_names(&self) -> EntryNames<'a> {
        match self.keys {
            Keys::Derived(opening) => EntryNames::configured(opening.keys.fields()),
            Keys::Given { names, .. } => names,
        }
    }

    /// The voucher, as entries name it.
    pub(super) fn entry_voucher(&self, is_managed: bool) -> Result<Str<'a>, CommandError> {
        if is_managed { Ok(self.managed_keys()?.voucher) } else { Ok(self.voucher) }
    }

    /// The voucher's keys, with what is known of them; none where the client names the keys.
    pub(super) fn known_keys(&self) -> Option<&VoucherKeys> {
        if let Keys::Derived(it) = self.keys { Some(&it.keys) } else { None }
    }

    /// The rules are others now.
    pub(super) fn forget_rules(&self) {
        self.more().rules.set(None);
    }

    /// May this command promote one more of the queue?
    pub(crate) fn may_serve(&self) -> bool {
        let promoted = &self.more().promoted;
        promoted.set(promoted.get().saturating_add(1));
        promoted.get() <= PROMOTED_MAX
    }

    /// This command promotes nobody.
    pub(crate) fn promote_nobody(&self) {
        self.more().promoted.set(PROMOTED_MAX);
    }

    /// Says so in the log.
    pub(crate) fn warn_of_stray(&self) {
        self.ctx.warn("an order that can't be read has left the waiting list of its voucher");
    }

    /// The database, and the queue.
    pub(crate) fn queue_name(&self) -> Option<(i32, Str<'a>)> {
        Some((self.ctx.selected_db(), self.managed_keys().ok()?.wait))
    }

    /// Closes what is open, because a decision came to nothing.
    pub(crate) fn close(&self) {
        let Some(more) = self.more.get() else { return };
        if let Some(opened) = more.managed.get() {
            opened.book.close();
            opened.units.close();
            opened.holds.close();
            opened.payments.close();
            opened.wait.close();
        }
        self.close_streams();
    }

    pub(super) fn close_streams(&self) {
        *self.more().streams.borrow_mut() = [None, None];
    }

    /// Apart from what most tries ask, which must not move rules.
    #[inline(never)]
    fn read_rules(&self, opening: &Opening<'a>) -> Result<Option<Rules>, CommandError> {
        if let Some(rules) = self.more.get().and_then(|more| more.rules.get()) {
            return Ok(Some(rules));
        }
        let rules = opening.keys.rules_in(self.ctx)?;
        if rules.is_some() {
            self.more().rules.set(rules);
        }
        Ok(rules)
    }

    /// The text of an order's entry, for [`Entry::parse`].
    pub(super) fn entry_text(&self, id: &Name<'a>) -> Result<Option<OwnedStr>, CommandError> {
        self.opened().book.field(self.ctx, self.managed_keys()?.book, id.as_str())
    }

    fn units_text(&self, user: &Name<'a>) -> Result<Option<OwnedStr>, CommandError> {
        self.opened().units.field(self.ctx, self.managed_keys()?.units, user.as_str())
    }
}

impl<'a> Facts for Sale<'a> {
    type Name = Name<'a>;
    type Error = CommandError;

    fn now(&self) -> Millis {
        let now = &self.more().now;
        let moment = now.get().unwrap_or_else(|| self.ctx.now_ms());
        now.set(Some(moment));
        moment
    }

    #[inline]
    fn policy(&self) -> Policy {
        match self.keys {
            Keys::Derived(_) => config::policy(),
            Keys::Given { policy, .. } => policy,
        }
    }

    #[inline]
    fn rules(&self) -> Result<Option<Rules>, CommandError> {
        match self.keys {
            Keys::Derived(opening) if !opening.keys.is_known_unmanaged(self.ctx) => {
                self.read_rules(opening)
            }
            _ => Ok(None),
        }
    }

    #[inline]
    fn stock(&self) -> Result<Stock, CommandError> {
        match self.keys {
            Keys::Derived(opening) => opening.keys.read_stock(self.ctx),
            Keys::Given { keys, .. } => stock::read(self.ctx, keys.stock),
        }
    }

    #[inline]
    fn known_buyer(&self, user: &Name<'a>) -> Result<Option<bool>, CommandError> {
        let Some(more) = self.more.get() else { return Ok(None) };
        Ok(more.bought.borrow().as_ref().map(|bought| bought.contains(user)))
    }

    fn is_buyer(&self, user: &Name<'a>) -> Result<bool, CommandError> {
        Buyer::new(self.sale_keys()?.buyers, User(user.as_str())).has_bought(self.ctx)
    }

    fn entry(&self, id: &Name<'a>) -> Result<Option<Entry<Name<'a>>>, CommandError> {
        let Some(text) = self.entry_text(id)? else { return Ok(None) };
        Ok(Some(Entry::parse(text.as_str().bytes())?.map(Name::read)))
    }

    /// Without a copy of the user.
    fn entry_of(
        &self,
        id: &Name<'a>,
        user: &Name<'a>,
    ) -> Result<Option<Entry<Name<'a>>>, CommandError> {
        let Some(text) = self.entry_text(id)? else { return Ok(None) };
        let entry = Entry::parse(text.as_str().bytes())?;
        let name = |it: &[u8]| if it == user.as_ref() { user.clone() } else { Name::read(it) };
        Ok((entry.user == user.as_ref()).then(|| entry.map(name)))
    }

    fn is_missing(&self, part: Needed) -> Result<bool, CommandError> {
        self.lacks(part)
    }

    fn units_of(&self, user: &Name<'a>) -> Result<Has, CommandError> {
        let Some(text) = self.units_text(user)? else { return Ok(Has::default()) };
        Ok(UserUnits::parse(text.as_str().bytes())?.has())
    }

    fn user_units(&self, user: &Name<'a>) -> Result<Option<UserUnits<Name<'a>>>, CommandError> {
        let Some(text) = self.units_text(user)? else { return Ok(None) };
        let UserUnits { units, waiting, latest } = UserUnits::parse(text.as_str().bytes())?;
        Ok(Some(UserUnits { units, waiting, latest: Name::read(latest) }))
    }

    fn taken(&self) -> Result<i64, CommandError> {
        self.count_taken()
    }

    fn note_surplus(&self, units: i64) {
        if self.known_keys().is_some_and(|keys| keys.is_more_surplus(units)) {
            self.warn_of_surplus(units);
        }
    }

    fn payment(&self, reference: &Name<'a>) -> Result<Option<Payment<Name<'a>>>, CommandError> {
        self.read_payment(reference)
    }

    fn last_sale(&self) -> Result<Option<SaleId>, CommandError> {
        self.read_last_sale()
    }

    fn outside(&self, order: &Name<'a>) -> Result<Option<Units>, CommandError> {
        self.read_outside(order)
    }

    fn keepable(&self) -> Result<(), CommandError> {
        check_primary(self.ctx)?;
        if self.ctx.is_memory_full() { Err(CommandError::NoMemory) } else { Ok(()) }
    }

    fn due(&self, most: usize) -> Result<Option<FirstDue<Name<'a>>>, CommandError> {
        self.find_due(most)
    }

    #[inline]
    fn sees_holds(&self) -> Result<(), CommandError> {
        self.check_reach()
    }

    fn held(&self, most: usize) -> Result<(Vec<Name<'a>>, u64), CommandError> {
        self.find_held(most)
    }

    fn is_waited_for(&self) -> Result<bool, CommandError> {
        self.has_queue()
    }

    fn queue(&self) -> Result<Queue, CommandError> {
        self.read_queue()
    }

    fn first_waiting(&self) -> Result<Option<First<Name<'a>>>, CommandError> {
        self.read_first()
    }

    fn queue_writable(&self) -> Result<(), CommandError> {
        self.open_queue()
    }

    fn has_own_keys(&self, with_stock: bool) -> Result<bool, CommandError> {
        let keys = self.managed_keys()?;
        let is_counted = |key: &Str<'_>| with_stock || key.bytes() != keys.sale.stock.bytes();
        let own = keys.all().own.into_iter().filter(is_counted);
        Ok(own.into_iter().any(|key| rules::exists(self.ctx, key)))
    }

    fn room(&self, stream: Stream) -> Result<(), CommandError> {
        let mut streams = self.more().streams.borrow_mut();
        if streams.iter().flatten().any(|(open, _)| *open == stream) {
            return Ok(());
        }
        let Some(place) = streams.iter_mut().find(|place| place.is_none()) else { return Ok(()) };
        let Some(key) = self.stream_key(stream)? else { return Ok(()) };
        let orders = Orders::open(self.ctx, key, stream.name())?;
        *place = Some((stream, orders));
        Ok(())
    }

    fn writable(&self, counts: bool) -> Result<(), CommandError> {
        check_primary(self.ctx)?;
        let keys = self.managed_keys()?;
        if counts {
            let extra = || book::read_extra(self.ctx, keys);
            self.opened().book.aside(self.ctx, keys.book, extra)?;
        }
        let opened = self.opened();
        opened.book.open(self.ctx, keys.book, Kind::Hash)?;
        opened.units.open(self.ctx, keys.units, Kind::Hash)?;
        opened.holds.open(self.ctx, keys.holds, Kind::SortedSet)
    }

    fn releasable(&self) -> Result<(), CommandError> {
        self.check_reach()?;
        buyers::check_kind(self.ctx, self.sale_keys()?.buyers)
    }
}
