//! The book of a managed voucher: its orders, its users' units, and its holds by deadline. Three
//! keys, written together, and a fourth where orders of several units are held.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::presence::check_extra_here;
use crate::keyspace::terms::check_primary;
use crate::keyspace::voucher_keys::ManagedKeys;
use crate::server::{Call, Ctx, Kind, OwnedStr, ReadKey, Str, WriteKey};
use crate::typed::{OrderId, User};
use domain::book::{Entry, Holding};
use domain::due::HoldPosition;
use domain::integer::{self, Decimal};
use domain::sale::Units;
use domain::terms::Millis;

/// The value of a field of a hash; None when the key or the field is missing.
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

/// The two hashes of a book, opened for reading many of their fields.
pub(crate) struct ReadBook<'a> {
    book: Option<ReadKey<'a>>,
    holdings: Option<ReadKey<'a>>,
}

impl<'a> ReadBook<'a> {
    pub(crate) fn open(ctx: Ctx<'a>, keys: ManagedKeys<'a>) -> Self {
        let [book, holdings] = [keys.book, keys.holdings].map(|key| ReadKey::open(ctx, key));
        Self { book, holdings }
    }

    /// As [`has_entry`].
    pub(crate) fn has_entry(&self, id: OrderId<'_>) -> Result<bool, CommandError> {
        self.book.as_ref().map_or(Ok(false), |book| Ok(book.hash_has(id.0)?))
    }

    /// As [`has_holding`].
    pub(crate) fn has_holding(&self, user: User<'_>) -> Result<bool, CommandError> {
        self.holdings.as_ref().map_or(Ok(false), |holdings| Ok(holdings.hash_has(user.0)?))
    }
}

/// The three keys of a book, opened for writing.
pub(crate) struct OpenBook<'a> {
    ctx: Ctx<'a>,
    keys: ManagedKeys<'a>,
    /// Units of the order that it was opened for.
    units: Units,
    book: WriteKey<'a>,
    holdings: WriteKey<'a>,
    holds: WriteKey<'a>,
}

impl<'a> OpenBook<'a> {
    /// Opens the keys, whether they exist or not, for an order that is or becomes held with this
    /// many units (else for one unit). An error when one of them does not hold what a book does, or
    /// on a replica. Changes nothing and fires no event.
    pub(crate) fn open(
        ctx: Ctx<'a>,
        keys: ManagedKeys<'a>,
        units: Units,
    ) -> Result<Self, CommandError> {
        check_primary(ctx)?;
        if units != Units::ONE {
            read_extra(ctx, keys)?;
        }
        let open = |key, wanted| {
            let key = WriteKey::open(ctx, key);
            match key.kind() {
                Kind::Empty => Ok(key),
                kind if kind == wanted => Ok(key),
                _ => Err(CommandError::WrongType),
            }
        };
        Ok(Self {
            ctx,
            keys,
            units,
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

    /// Writes the entries of several orders.
    pub(crate) fn enter_all<'e>(
        &mut self,
        entries: impl Iterator<Item = (OrderId<'e>, Entry<'e>)>,
    ) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        let fields = entries.map(|(id, entry)| (id.0, entry.write()));
        set_fields(&mut self.book, self.keys.book, fields)
    }

    /// Writes the units of several users. If a user is named twice, the last entry counts.
    pub(crate) fn set_holdings<'e>(
        &mut self,
        holdings: impl Iterator<Item = (User<'e>, Holding<'e>)>,
    ) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        let fields = holdings.map(|(user, holding)| (user.0, holding.write()));
        set_fields(&mut self.holdings, self.keys.holdings, fields)
    }

    /// Adds several orders of one unit each to the holds, until `deadline`.
    pub(crate) fn place_holds<'e>(
        &mut self,
        ids: impl Iterator<Item = OrderId<'e>>,
        deadline: Millis,
    ) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        // Deadlines are below 2^53, which a double holds exactly.
        let placed = ids.take_while(|id| self.holds.zset_add(deadline as f64, id.0).is_ok());
        let members: Vec<Str<'e>> = placed.map(|id| id.0).collect();
        (!members.is_empty()).then_some(Effect::AllScored {
            key: self.keys.holds,
            score: deadline,
            members,
        })
    }

    /// Writes a user's units; a user without units is removed.
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

    /// Adds an order to the holds, until `deadline`.
    pub(crate) fn place_hold<'e>(&mut self, id: OrderId<'e>, deadline: Millis) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        let placed = self.move_hold(id, deadline)?;
        self.count_extra(1);
        Some(placed)
    }

    /// Changes the deadline of an order among the holds.
    pub(crate) fn move_hold<'e>(&mut self, id: OrderId<'e>, deadline: Millis) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        // Deadlines are below 2^53, which a double holds exactly.
        self.holds.zset_add(deadline as f64, id.0).ok()?;
        Some(Effect::Scored { key: self.keys.holds, score: deadline, member: id.0 })
    }

    /// Removes an order from the holds. None when it was not there.
    pub(crate) fn lift_hold<'e>(&mut self, id: OrderId<'e>) -> Option<Effect<'e>>
    where
        'a: 'e,
    {
        self.count_extra(-1);
        if !self.holds.zset_rem(id.0) {
            return None;
        }
        let was_last = self.holds.kind() == Kind::Empty;
        if was_last {
            self.reset_extra();
        }
        Some(Effect::Unscored { key: self.keys.holds, member: id.0, was_last })
    }

    /// Counts an order of this many units as held (1), or as no longer held (-1). Replicated by the
    /// server.
    ///
    /// The key was seen to be an integer when the book was opened, and is deleted when it would be
    /// 0. A sum that does not fit, of a key that somebody has edited, is left for SECKILL.AUDIT.
    fn count_extra(&self, sign: i64) {
        let by = self.units.get().saturating_sub(1).saturating_mul(sign);
        if by == 0 {
            return;
        }
        if read_extra(self.ctx, self.keys).unwrap_or(0).saturating_add(by) <= 0 {
            return self.reset_extra();
        }
        let by = OwnedStr::new(Decimal::new(by).bytes());
        drop(Call::write(self.ctx, c"INCRBY", self.keys.extra, by.as_str()));
    }

    /// No order of several units is held.
    fn reset_extra(&self) {
        if ReadKey::open(self.ctx, self.keys.extra).is_some() {
            drop(Call::write_all(self.ctx, c"DEL", &[self.keys.extra]));
        }
    }
}

/// Units of held orders beyond the first of each.
fn read_extra(ctx: Ctx<'_>, keys: ManagedKeys<'_>) -> Result<i64, CommandError> {
    let Some(key) = ReadKey::open(ctx, keys.extra) else {
        return check_extra_here(ctx, keys).map(|()| 0);
    };
    integer::parse(key.string()?).ok_or(CommandError::Garbled)
}

/// None when the key is no longer a hash, which only another module could have caused since it was
/// opened.
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

/// As [`set_field`], for several fields. None when nothing was written.
fn set_fields<'a>(
    hash: &mut WriteKey<'_>,
    key: Str<'a>,
    values: impl Iterator<Item = (Str<'a>, Vec<u8>)>,
) -> Option<Effect<'a>> {
    let values = values.map(|(field, value)| (field, OwnedStr::new(&value)));
    let written = values.take_while(|(field, value)| hash.hash_set(*field, value.as_str()).is_ok());
    let fields: Vec<_> = written.collect();
    (!fields.is_empty()).then_some(Effect::FieldsSet { key, fields })
}

/// What a holds key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holds {
    /// The earliest deadline after the requested position; None when there is none.
    pub(crate) first: Option<Millis>,
    pub(crate) count: u64,
}

/// The content of a holds key; None when there is no sorted set.
pub(crate) fn holds(ctx: Ctx<'_>, key: Str<'_>, behind: Option<&HoldPosition>) -> Option<Holds> {
    let holds = ReadKey::open(ctx, key)?;
    let first = members(&holds, behind, Millis::MAX, 1).ok()?.into_iter().next();
    let count = u64::try_from(holds.len()).unwrap_or(u64::MAX);
    Some(Holds { first: first.map(|(_, deadline)| deadline), count })
}

/// The orders after a position whose deadline is not after `now`, with their deadlines, the
/// earliest first, at most `most`.
pub(crate) fn due(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    behind: Option<&HoldPosition>,
    now: Millis,
    most: usize,
) -> Result<Vec<(OwnedStr, Millis)>, CommandError> {
    let Some(holds) = ReadKey::open(ctx, keys.holds) else { return Ok(Vec::new()) };
    members(&holds, behind, now, most)
}

/// Members of a holds key. Takes time for every member of the position's own deadline.
fn members(
    holds: &ReadKey<'_>,
    behind: Option<&HoldPosition>,
    until: Millis,
    most: usize,
) -> Result<Vec<(OwnedStr, Millis)>, CommandError> {
    let from = behind.map_or(f64::NEG_INFINITY, |behind| behind.deadline as f64);
    // Deadlines are below 2^53, which a double holds exactly.
    let until = if until == Millis::MAX { f64::INFINITY } else { until as f64 };
    // Members with the same score are sorted by their bytes.
    let is_before = |id: &[u8], score: f64| {
        behind.is_some_and(|behind| {
            score <= from && behind.id.as_ref().is_none_or(|last| id <= last.as_slice())
        })
    };
    let members = holds.members(from..=until, most, is_before)?;
    // Scores that no deadline has saturate, and so differ from every deadline.
    Ok(members.into_iter().map(|(id, score)| (id, score as Millis)).collect())
}

/// The units of all held orders, in constant time: one per hold, and those beyond the first, which
/// are not read if every order has one unit.
pub(crate) fn units_held(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    all_single: bool,
) -> Result<i64, CommandError> {
    let Some(holds) = ReadKey::open(ctx, keys.holds) else { return Ok(0) };
    if holds.kind() != Kind::SortedSet {
        return Err(CommandError::WrongType);
    }
    let count = i64::try_from(holds.len()).unwrap_or(i64::MAX);
    let extra = if all_single { 0 } else { read_extra(ctx, keys)? };
    Ok(count.saturating_add(extra))
}

/// Units of held orders beyond the first of each, as the key says; None if it is not an integer.
pub(crate) fn extra(ctx: Ctx<'_>, keys: ManagedKeys<'_>) -> Result<Option<i64>, CommandError> {
    match read_extra(ctx, keys) {
        Ok(extra) => Ok(Some(extra)),
        Err(CommandError::WrongType | CommandError::Garbled) => Ok(None),
        Err(error) => Err(error),
    }
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
    let all = members(&holds, None, Millis::MAX, usize::MAX)?;
    Ok(all.into_iter().map(|(id, deadline)| (id.as_str().bytes().to_vec(), deadline)).collect())
}
