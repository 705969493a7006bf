//! The names of a voucher's keys, made from the configurations once a change, and kept for the
//! voucher tried last.

use crate::args::Voucher;
use crate::config;
use crate::error::CommandError;
use crate::rules::hash_tag::{StrayBraces, Tagged, tagged};
use crate::server::{Call, Ctx, MainThread, OwnedStr, Str};
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

/// Refuses, in cluster mode, keys that are not all on this node.
///
/// The client named only the voucher, so while its slot is moved the server can't know that the
/// keys derived from it are on the other side, and the API opens keys of foreign slots without a
/// word. A call of the server does look.
pub(crate) fn check_here(ctx: Ctx<'_>, keys: SaleKeys<'_>) -> Result<(), CommandError> {
    let all = [keys.stock, keys.buyers, keys.orders.unwrap_or(keys.stock)];
    match Call::read(ctx, c"EXISTS", &all) {
        Ok(_) => Ok(()),
        Err(error) => Err(CommandError::of_call(error, "EXISTS")),
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

/// The names of the fields of an order's entry.
pub(crate) struct OrderFields {
    user: OwnedStr,
    voucher: OwnedStr,
    id: OwnedStr,
    units: OwnedStr,
}

impl OrderFields {
    pub(crate) fn user(&self) -> Str<'_> {
        self.user.as_str()
    }

    pub(crate) fn voucher(&self) -> Str<'_> {
        self.voucher.as_str()
    }

    pub(crate) fn id(&self) -> Str<'_> {
        self.id.as_str()
    }

    pub(crate) fn units(&self) -> Str<'_> {
        self.units.as_str()
    }
}

/// The names of one voucher's keys.
pub(crate) struct VoucherKeys {
    names: Rc<Names>,
    voucher: Vec<u8>,
    stock: OwnedStr,
    buyers: OwnedStr,
    orders: Option<OwnedStr>,
}

static NAMES: MainThread<Option<Rc<Names>>> = MainThread::new(None);
static LAST: MainThread<Option<Rc<VoucherKeys>>> = MainThread::new(None);

impl VoucherKeys {
    /// The keys of `voucher`. Costs nothing much for the voucher asked for last.
    pub(crate) fn of(voucher: Voucher<'_>) -> Result<Rc<Self>, CommandError> {
        let voucher = voucher.0.bytes();
        if let Some(last) = LAST.cloned()
            && last.names.generation == config::generation()
            && last.voucher == voucher
        {
            return Ok(last);
        }
        let keys = Rc::new(Self::make(Names::now(), voucher)?);
        keys.sale().check_differ()?;
        LAST.set(Some(Rc::clone(&keys)));
        Ok(keys)
    }

    pub(crate) fn sale(&self) -> SaleKeys<'_> {
        SaleKeys {
            stock: self.stock.as_str(),
            buyers: self.buyers.as_str(),
            orders: self.orders.as_ref().map(OwnedStr::as_str),
        }
    }

    pub(crate) fn fields(&self) -> &OrderFields {
        &self.names.fields
    }

    fn make(names: Rc<Names>, voucher: &[u8]) -> Result<Self, CommandError> {
        let style = names.style(voucher)?;
        let key = |prefix: &[u8]| match style {
            Style::Plain | Style::OwnTag(_) => OwnedStr::new(&[prefix, voucher].concat()),
            Style::Wrapped => OwnedStr::new(&[prefix, b"{", voucher, b"}"].concat()),
        };
        let stream = names.order_stream.as_slice();
        let orders = match style {
            _ if stream.is_empty() => None,
            Style::Plain => Some(OwnedStr::new(stream)),
            Style::OwnTag(tag) => Some(OwnedStr::new(&[stream, b":{", tag, b"}"].concat())),
            Style::Wrapped => Some(OwnedStr::new(&[stream, b":{", voucher, b"}"].concat())),
        };
        let (stock, buyers) = (key(&names.stock_prefix), key(&names.buyers_prefix));
        Ok(Self { names, voucher: voucher.to_vec(), stock, buyers, orders })
    }
}

/// How the voucher stands in the names of its keys.
#[derive(Clone, Copy)]
enum Style<'v> {
    Plain,
    OwnTag(&'v [u8]),
    Wrapped,
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
            fields: config::ORDER_FIELDS.with(|text| {
                let mut words = text.split(|byte| *byte == b' ');
                let mut next = || OwnedStr::new(words.next().unwrap_or_default());
                OrderFields {
                    user: next(),
                    voucher: next(),
                    id: next(),
                    units: OwnedStr::new(b"units"),
                }
            }),
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
        match tagged(voucher) {
            Ok(Tagged::Own { tag }) => Ok(Style::OwnTag(tag)),
            Ok(Tagged::Wrapped) => Ok(Style::Wrapped),
            Err(StrayBraces) => Err(CommandError::StrayBraces),
        }
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

/// Frees everything kept: the module is being unloaded.
pub(crate) fn forget() {
    LAST.set(None);
    NAMES.set(None);
}
