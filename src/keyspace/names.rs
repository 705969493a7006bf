//! The names of a voucher's keys, made from the configurations once a change, and kept for the
//! voucher tried last.

use crate::args::Voucher;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::fields::OrderFields;
use crate::keyspace::prefixes::{BOOK_PREFIX, HOLDINGS_PREFIX, HOLDS_PREFIX, TERMS_PREFIX};
use crate::keyspace::style::Style;
use crate::keyspace::terms;
use domain::hash_tag::StrayBraces;
use domain::terms::{Millis, Terms};
use crate::server::{Call, Ctx, MainThread, OwnedStr, Str};
use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::rc::Rc;

/// The keys that an unmanaged try touches. `orders` is none where no stream is kept.
#[derive(Clone, Copy)]
pub(crate) struct SaleKeys<'k> {
    pub(crate) stock: Str<'k>,
    pub(crate) buyers: Str<'k>,
    pub(crate) orders: Option<Str<'k>>,
}

impl SaleKeys<'_> {
    /// Refuses keys of which two are one: what is a stock for the one would be a set for the other.
    pub(crate) fn check_differ(&self) -> Result<(), CommandError> {
        let (stock, buyers) = (self.stock.bytes(), self.buyers.bytes());
        let orders = self.orders.map(Str::bytes);
        if stock == buyers || orders == Some(stock) || orders == Some(buyers) {
            return Err(CommandError::SameKeys);
        }
        Ok(())
    }
}

/// What the configurations say about names.
struct Names {
    generation: u64,
    stock_prefix: Vec<u8>,
    buyers_prefix: Vec<u8>,
    order_stream: Vec<u8>,
    hash_tags: bool,
    fields: OrderFields,
}

/// The keys of a managed voucher.
#[derive(Clone, Copy)]
pub(crate) struct ManagedKeys<'k> {
    pub(crate) sale: SaleKeys<'k>,
    pub(crate) terms: Str<'k>,
    /// Order id to order.
    pub(crate) book: Str<'k>,
    /// User to units.
    pub(crate) holdings: Str<'k>,
    /// Order ids by deadline.
    pub(crate) holds: Str<'k>,
    /// The stream of give-backs; none where no stream is kept.
    pub(crate) released: Option<Str<'k>>,
}

/// How much of a voucher is known to be on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All its keys.
    Whole,
    /// Those that a sale on a managed voucher touches, while its slot is moved. What is given back
    /// touches more.
    Sale,
}

/// The names of one voucher's keys.
///
/// A losing try needs only a few, so the others are made when first asked for.
pub(crate) struct VoucherKeys {
    names: Rc<Names>,
    voucher: Vec<u8>,
    stock: OwnedStr,
    terms: OwnedStr,
    others: OnceCell<Others>,
    managed: OnceCell<Managed>,
    /// The database in which the voucher is known to have no terms, or none.
    unmanaged_in: Cell<Option<i32>>,
    /// The database in which no hold is due before a moment, and the moment.
    none_due: Cell<Option<(i32, Millis)>>,
}

struct Managed {
    book: OwnedStr,
    holdings: OwnedStr,
    holds: OwnedStr,
    released: Option<OwnedStr>,
}

/// What comes behind the name of the order stream in that of the stream of give-backs.
const RELEASED_SUFFIX: &[u8] = b".released";

struct Others {
    buyers: OwnedStr,
    orders: Option<OwnedStr>,
}

static NAMES: MainThread<Option<Rc<Names>>> = MainThread::new(None);
static LAST: MainThread<Option<Rc<VoucherKeys>>> = MainThread::new(None);

impl VoucherKeys {
    /// The keys of `voucher`. Costs next to nothing for the voucher asked for last.
    #[inline]
    pub(crate) fn of(voucher: Voucher<'_>) -> Result<Rc<Self>, CommandError> {
        let voucher = voucher.0.bytes();
        if let Some(last) = LAST.cloned()
            && last.names.generation == config::generation()
            && last.voucher == voucher
        {
            return Ok(last);
        }
        Self::make(voucher)
    }

    /// Makes the keys of another voucher than the last, and keeps them.
    #[cold]
    fn make(voucher: &[u8]) -> Result<Rc<Self>, CommandError> {
        let names = Names::now();
        let style = names.style(voucher)?;
        let stock = style.key(&names.stock_prefix, voucher);
        let terms = style.key(TERMS_PREFIX, voucher);
        let keys = Rc::new(Self {
            names,
            voucher: voucher.to_vec(),
            stock,
            terms,
            others: OnceCell::new(),
            managed: OnceCell::new(),
            unmanaged_in: Cell::new(None),
            none_due: Cell::new(None),
        });
        LAST.set(Some(Rc::clone(&keys)));
        Ok(keys)
    }

    pub(crate) fn stock(&self) -> Str<'_> {
        self.stock.as_str()
    }

    /// All keys. An error when two of them are one.
    pub(crate) fn sale(&self) -> Result<SaleKeys<'_>, CommandError> {
        let others = match self.others.get() {
            Some(others) => others,
            None => {
                let others = self.make_others()?;
                self.with(&others).check_differ()?;
                self.others.get_or_init(|| others)
            }
        };
        Ok(self.with(others))
    }

    pub(crate) fn fields(&self) -> &OrderFields {
        &self.names.fields
    }

    pub(crate) fn terms(&self) -> Str<'_> {
        self.terms.as_str()
    }

    /// Refuses, in cluster mode, keys that are not all on this node.
    ///
    /// The client named only the voucher, so while its slot is moved the server can't know that
    /// the keys derived from it are on the other side, and the API opens keys of foreign slots
    /// without a word. A call of the server does look.
    #[inline]
    pub(crate) fn check_here(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        if config::is_cluster() { self.check_here_in_cluster(ctx) } else { Ok(()) }
    }

    fn check_here_in_cluster(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        let SaleKeys { stock, buyers, orders } = self.sale()?;
        // While the slot rests every key is here, there or not. While it is moved, one that is not
        // there may be on the other side. So of a voucher in a moving slot everything must be seen,
        // and one without terms is not sold at all: it could be a managed one whose terms went
        // first.
        let mut all = vec![stock, buyers, orders.unwrap_or(stock), self.terms()];
        if terms::exists(ctx, self.terms()) {
            let ManagedKeys { book, holdings, holds, released, .. } = self.managed()?;
            all.extend([book, holdings, holds, released.unwrap_or(book)]);
        }
        match Call::read_all(ctx, c"EXISTS", &all) {
            Ok(_) => Ok(()),
            Err(error) => Err(CommandError::of_call(error, "EXISTS")),
        }
    }

    /// As [`check_here`](Self::check_here), but content with what a sale touches.
    #[inline]
    pub(crate) fn reach(&self, ctx: Ctx<'_>) -> Result<Reach, CommandError> {
        if config::is_cluster() { self.reach_in_cluster(ctx) } else { Ok(Reach::Whole) }
    }

    fn reach_in_cluster(&self, ctx: Ctx<'_>) -> Result<Reach, CommandError> {
        match self.check_here_in_cluster(ctx) {
            Err(CommandError::TryAgain) => {}
            seen => return seen.map(|()| Reach::Whole),
        }
        // The slot is moved. A voucher that has given nothing back and holds nothing lacks two keys
        // for good, which a sale does not need to see.
        let Ok(Some(terms)) = terms::read(ctx, self.terms()) else {
            return Err(CommandError::TryAgain);
        };
        let ManagedKeys { sale, book, holdings, holds, .. } = self.managed()?;
        let SaleKeys { stock, buyers, orders } = sale;
        let mut touched =
            vec![stock, buyers, orders.unwrap_or(stock), self.terms(), book, holdings];
        if terms.hold.is_some() {
            touched.push(holds);
        }
        match Call::read_all(ctx, c"EXISTS", &touched) {
            Ok(_) => Ok(Reach::Sale),
            Err(error) => Err(CommandError::of_call(error, "EXISTS")),
        }
    }

    /// The voucher's terms; none when it is not managed.
    ///
    /// That the voucher tried last has none is remembered, for its database, until a key with the
    /// name of some terms appears: see [`forget_last`].
    #[inline]
    pub(crate) fn terms_in(&self, ctx: Ctx<'_>) -> Result<Option<Terms>, CommandError> {
        let db = ctx.selected_db();
        if self.unmanaged_in.get() == Some(db) { Ok(None) } else { self.read_terms(ctx, db) }
    }

    fn read_terms(&self, ctx: Ctx<'_>, db: i32) -> Result<Option<Terms>, CommandError> {
        let terms = terms::read(ctx, self.terms())?;
        if terms.is_none() && !config::is_cluster() {
            self.unmanaged_in.set(Some(db));
        }
        Ok(terms)
    }

    /// Is it known that no hold of this database is due at `now`?
    pub(crate) fn is_none_due(&self, db: i32, now: Millis) -> bool {
        self.none_due.get().is_some_and(|(known, from)| known == db && now < from)
    }

    /// Remembers that no hold of this database is due before `from`, until something happens to
    /// the holds: see [`holds_changed`].
    pub(crate) fn set_none_due(&self, db: i32, from: Millis) {
        if !config::is_cluster() {
            self.none_due.set(Some((db, from)));
        }
    }

    /// The keys of the voucher as a managed one.
    pub(crate) fn managed(&self) -> Result<ManagedKeys<'_>, CommandError> {
        let sale = self.sale()?;
        let names = match self.managed.get() {
            Some(names) => names,
            None => {
                let names = self.make_managed()?;
                self.check_all_differ(sale, &names)?;
                self.managed.get_or_init(|| names)
            }
        };
        Ok(ManagedKeys {
            sale,
            terms: self.terms(),
            book: names.book.as_str(),
            holdings: names.holdings.as_str(),
            holds: names.holds.as_str(),
            released: names.released.as_ref().map(OwnedStr::as_str),
        })
    }

    /// Refuses configured names that meet those of a managed voucher's own keys.
    fn check_all_differ(&self, sale: SaleKeys<'_>, names: &Managed) -> Result<(), CommandError> {
        let own = [&self.terms, &names.book, &names.holdings, &names.holds];
        let own = own.into_iter().chain(&names.released).map(OwnedStr::as_str);
        let all = [sale.stock, sale.buyers].into_iter().chain(sale.orders).chain(own);
        let mut seen = HashSet::new();
        if all.map(Str::bytes).all(|name| seen.insert(name)) {
            Ok(())
        } else {
            Err(CommandError::SameKeys)
        }
    }

    fn make_managed(&self) -> Result<Managed, CommandError> {
        let (style, voucher) = (self.names.style(&self.voucher)?, self.voucher.as_slice());
        let released = match self.names.order_stream.as_slice() {
            [] => None,
            stream => Some(style.stream(&[stream, RELEASED_SUFFIX].concat(), voucher)),
        };
        Ok(Managed {
            book: style.key(BOOK_PREFIX, voucher),
            holdings: style.key(HOLDINGS_PREFIX, voucher),
            holds: style.key(HOLDS_PREFIX, voucher),
            released,
        })
    }

    fn with<'k>(&'k self, others: &'k Others) -> SaleKeys<'k> {
        SaleKeys {
            stock: self.stock.as_str(),
            buyers: others.buyers.as_str(),
            orders: others.orders.as_ref().map(OwnedStr::as_str),
        }
    }

    fn make_others(&self) -> Result<Others, CommandError> {
        let style = self.names.style(&self.voucher)?;
        let orders = match self.names.order_stream.as_slice() {
            [] => None,
            stream => Some(style.stream(stream, &self.voucher)),
        };
        Ok(Others { buyers: style.key(&self.names.buyers_prefix, &self.voucher), orders })
    }
}

impl Names {
    /// The names as configured now.
    fn now() -> Rc<Self> {
        if let Some(names) = NAMES.cloned()
            && names.generation == config::generation()
        {
            return names;
        }
        let names = Rc::new(Self::read());
        NAMES.set(Some(Rc::clone(&names)));
        names
    }

    fn read() -> Self {
        Self {
            generation: config::generation(),
            stock_prefix: config::STOCK_PREFIX.with(<[u8]>::to_vec),
            buyers_prefix: config::BUYERS_PREFIX.with(<[u8]>::to_vec),
            order_stream: config::ORDER_STREAM.with(<[u8]>::to_vec),
            hash_tags: config::hash_tags(),
            fields: config::ORDER_FIELDS.with(OrderFields::parse),
        }
    }

    fn style<'v>(&self, voucher: &'v [u8]) -> Result<Style<'v>, CommandError> {
        if !self.hash_tags {
            return Ok(Style::Plain);
        }
        let prefixes = [&self.stock_prefix, &self.buyers_prefix, &self.order_stream];
        if prefixes.iter().any(|prefix| prefix.contains(&b'{')) {
            return Err(CommandError::BraceInPrefix);
        }
        Style::tagged(voucher).map_err(|StrayBraces| CommandError::StrayBraces)
    }
}

/// The field names as configured now, for orders whose keys the client spelled.
pub(crate) struct CurrentFields(Rc<Names>);

impl CurrentFields {
    pub(crate) fn now() -> Self {
        Self(Names::now())
    }

    pub(crate) fn fields(&self) -> &OrderFields {
        &self.0.fields
    }
}

/// Forgets the voucher tried last.
///
/// Must be called when a key whose name begins with [`TERMS_PREFIX`] appears, and when databases
/// are loaded or swapped: a voucher known to be unmanaged may be managed now.
pub(crate) fn forget_last() {
    LAST.set(None);
}

/// Something happened to a holds key: what is remembered of it is void.
pub(crate) fn holds_changed(key: &[u8]) {
    if let Some(last) = LAST.cloned()
        && last.managed.get().is_none_or(|names| names.holds.as_str().bytes() == key)
    {
        last.none_due.set(None);
    }
}

/// Frees everything kept: the module is being unloaded.
pub(crate) fn forget() {
    LAST.set(None);
    NAMES.set(None);
}
