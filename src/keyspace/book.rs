//! The book of a managed voucher: its orders, its users' units, and its holds by deadline. Three
//! keys, written together.

use crate::args::{OrderId, User};
use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::names::ManagedKeys;
use domain::book::{Entry, Holding};
use domain::terms::Millis;
use crate::server::{Call, Ctx, Kind, OwnedStr, ReadKey, Str, WriteKey};

/// The value of a field of a hash; none when the key or the field is missing.
fn field(ctx: Ctx<'_>, key: Str<'_>, field: Str<'_>) -> Result<Option<OwnedStr>, CommandError> {
    match ReadKey::open(ctx, key) {
        None => Ok(None),
        Some(key) => Ok(key.hash_get(field)?),
    }
}

/// Does a hash have the field?
fn has_field(ctx: Ctx<'_>, key: Str<'_>, field: Str<'_>) -> Result<bool, CommandError> {
    match ReadKey::open(ctx, key) {
        None => Ok(false),
        Some(key) => Ok(key.hash_has(field)?),
    }
}

/// The text of an order's entry, for [`Entry::parse`].
pub(crate) fn entry(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    id: OrderId<'_>,
) -> Result<Option<OwnedStr>, CommandError> {
    field(ctx, keys.book, id.0)
}

/// Is the order in the book? Cheaper than [`entry`], and enough for nearly every try.
pub(crate) fn has_entry(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    id: OrderId<'_>,
) -> Result<bool, CommandError> {
    has_field(ctx, keys.book, id.0)
}

/// The text of what a user has, for [`Holding::parse`].
pub(crate) fn holding(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    user: User<'_>,
) -> Result<Option<OwnedStr>, CommandError> {
    field(ctx, keys.holdings, user.0)
}

/// Does the user have any units?
pub(crate) fn has_holding(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    user: User<'_>,
) -> Result<bool, CommandError> {
    has_field(ctx, keys.holdings, user.0)
}

/// The three keys of a book, opened for what is to be written into them.
pub(crate) struct OpenBook<'a> {
    keys: ManagedKeys<'a>,
    book: WriteKey<'a>,
    holdings: WriteKey<'a>,
    holds: WriteKey<'a>,
}

impl<'a> OpenBook<'a> {
    /// Opens the keys, there or not. An error when one holds something else than a book does.
    /// Nothing is changed by this, and nobody is told.
    pub(crate) fn open(ctx: Ctx<'a>, keys: ManagedKeys<'a>) -> Result<Self, CommandError> {
        let open = |key, wanted| {
            let key = WriteKey::open(ctx, key);
            match key.kind() {
                Kind::Empty => Ok(key),
                kind if kind == wanted => Ok(key),
                _ => Err(CommandError::WrongType),
            }
        };
        Ok(Self {
            keys,
            book: open(keys.book, Kind::Hash)?,
            holdings: open(keys.holdings, Kind::Hash)?,
            holds: open(keys.holds, Kind::SortedSet)?,
        })
    }

    /// Writes an order's entry.
    pub(crate) fn enter<'e>(&mut self, id: OrderId<'e>, entry: &Entry<'_>) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        set_field(&mut self.book, self.keys.book, id.0, &entry.write())
    }

    /// Writes what a user has; with none the user is forgotten.
    pub(crate) fn set_holding<'e>(
        &mut self,
        user: User<'e>,
        holding: Option<Holding<'_>>,
    ) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        let (key, field) = (self.keys.holdings, user.0);
        if let Some(holding) = holding {
            return set_field(&mut self.holdings, key, field, &holding.write());
        }
        self.holdings.hash_del(field).ok()?;
        let was_last = self.holdings.kind() == Kind::Empty;
        Some(Effect::FieldDeleted { key, field, was_last })
    }

    /// Puts an order among the holds, until `deadline`.
    pub(crate) fn place_hold<'e>(&mut self, id: OrderId<'e>, deadline: Millis) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        // Deadlines are below 2^53, which a double holds exactly.
        self.holds.zset_add(deadline as f64, id.0).ok()?;
        Some(Effect::Scored { key: self.keys.holds, score: deadline, member: id.0 })
    }

    /// Takes an order from the holds. None when it was not there.
    pub(crate) fn lift_hold<'e>(&mut self, id: OrderId<'e>) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        if !self.holds.zset_rem(id.0) {
            return None;
        }
        let was_last = self.holds.kind() == Kind::Empty;
        Some(Effect::Unscored { key: self.keys.holds, member: id.0, was_last })
    }
}

/// None when the key is no hash any more, which only another module could have brought about since
/// it was opened.
fn set_field<'a>(
    hash: &mut WriteKey<'_>,
    key: Str<'a>,
    field: Str<'a>,
    value: &[u8],
) -> Option<Effect<'a>> {
    let value = OwnedStr::new(value);
    hash.hash_set(field, value.as_str()).ok()?;
    Some(Effect::FieldSet { key, field, value })
}

/// The earliest deadline in a holds key, and how many holds there are. None when there is no
/// sorted set.
pub(crate) fn first_hold(ctx: Ctx<'_>, key: Str<'_>) -> Option<(Millis, u64)> {
    let holds = ReadKey::open(ctx, key)?;
    let first = holds.members_up_to(f64::INFINITY, 1).ok()?;
    let (_, score) = first.first()?;
    Some((*score as Millis, u64::try_from(holds.len()).unwrap_or(u64::MAX)))
}

/// The orders whose deadline is not after `now`, the earliest first, at most `most`.
pub(crate) fn due(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    now: Millis,
    most: usize,
) -> Result<Vec<OwnedStr>, CommandError> {
    let Some(holds) = ReadKey::open(ctx, keys.holds) else { return Ok(Vec::new()) };
    let due = holds.members_up_to(now as f64, most)?;
    Ok(due.into_iter().map(|(id, _)| id).collect())
}

/// The units of all held orders. Where every order is of one unit, that is as many as there are
/// holds; else each is looked up in the book.
pub(crate) fn units_held(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    all_single: bool,
) -> Result<i64, CommandError> {
    let Some(holds) = ReadKey::open(ctx, keys.holds) else { return Ok(0) };
    if holds.kind() != Kind::SortedSet {
        return Err(CommandError::WrongType);
    }
    if all_single {
        return Ok(i64::try_from(holds.len()).unwrap_or(i64::MAX));
    }
    let mut units = 0i64;
    for (id, _) in holds.members_up_to(f64::INFINITY, usize::MAX)? {
        if let Some(text) = entry(ctx, keys, OrderId(id.as_str()))? {
            units = units.saturating_add(Entry::parse(text.as_str().bytes())?.units.get());
        }
    }
    Ok(units)
}

/// A field of a hash and its value.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// Every field of a hash with its value. Copies the whole of it.
pub(crate) fn all_fields(ctx: Ctx<'_>, key: Str<'_>) -> Result<Vec<Pair>, CommandError> {
    let reply = Call::read_all(ctx, c"HGETALL", &[key])
        .map_err(|error| CommandError::of_call(error, "HGETALL"))?;
    let mut texts = reply.texts().map(<[u8]>::to_vec);
    Ok(std::iter::from_fn(|| Some((texts.next()?, texts.next()?))).collect())
}

/// Every hold: order id and deadline.
pub(crate) fn all_holds(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
) -> Result<Vec<(Vec<u8>, Millis)>, CommandError> {
    let Some(holds) = ReadKey::open(ctx, keys.holds) else { return Ok(Vec::new()) };
    let all = holds.members_up_to(f64::INFINITY, usize::MAX)?;
    // Scores that no deadline has saturate, and so differ from every deadline.
    Ok(all.into_iter().map(|(id, score)| (id.as_str().bytes().to_vec(), score as i64)).collect())
}
