//! The arguments of a command, read one by one under the names that the docs give them.

use crate::config;
use crate::error::CommandError;
use crate::server::Str;
use crate::typed::{Argument, KeyName, Token};
use domain::entry_id::EntryId;
use domain::integer;
use domain::key_names::BadLockName;
use domain::order_id::Count;
use domain::rules::SaleId;
use domain::sale::Units;
use std::ops::RangeInclusive;

/// The arguments not read yet.
pub(crate) struct Args<'a>(&'a [Str<'a>]);

impl<'a> Args<'a> {
    pub(crate) fn new(arguments: &'a [Str<'a>]) -> Self {
        Self(arguments)
    }

    /// The next argument. The arity was checked, so that none is left is a syntax error. One that
    /// is too long is refused before anything is made of it.
    #[inline]
    pub(crate) fn next<A: Argument<'a>>(&mut self) -> Result<A, CommandError> {
        let raw = self.pop().ok_or(CommandError::Syntax)?;
        if let Some(argument) = A::BOUNDED {
            check_bound(raw.bytes().len(), argument)?;
        }
        Ok(A::of(raw))
    }

    /// The next argument as the key of a lock that is to change hands. As long as ids at most: its
    /// name is kept for those who wait.
    pub(crate) fn next_lock(&mut self) -> Result<KeyName<'a>, CommandError> {
        let key: KeyName<'a> = self.next()?;
        let name = key.0.bytes();
        check_bound(name.len(), "key")?;
        match config::check_lock_name(name) {
            Ok(()) => Ok(key),
            Err(BadLockName::Fence) => Err(CommandError::FenceKey),
            Err(BadLockName::Own) => Err(CommandError::OwnKey),
        }
    }

    /// The next argument as the token of a new holder. Not empty: clients that never set theirs
    /// would all be one.
    pub(crate) fn next_holder(&mut self) -> Result<Token<'a>, CommandError> {
        let token: Token<'a> = self.next()?;
        let is_empty = token.0.bytes().is_empty();
        if is_empty { Err(CommandError::Empty { argument: "token" }) } else { Ok(token) }
    }

    /// The next argument as one of `words`, which are upper case; it may be in any.
    pub(crate) fn next_word(
        &mut self,
        words: &[&'static str],
    ) -> Result<&'static str, CommandError> {
        let word = self.pop().ok_or(CommandError::Syntax)?.bytes();
        words
            .iter()
            .copied()
            .find(|known| word.eq_ignore_ascii_case(known.as_bytes()))
            .ok_or(CommandError::Syntax)
    }

    /// Takes the next argument if it is `word`, which is upper case; it may be in any.
    pub(crate) fn take_word(&mut self, word: &'static str) -> bool {
        let is_next = |next: &Str<'_>| next.bytes().eq_ignore_ascii_case(word.as_bytes());
        self.0.first().is_some_and(is_next) && self.pop().is_some()
    }

    /// The next argument as an integer in `min..=max`, under the name that the docs give it.
    pub(crate) fn next_integer(
        &mut self,
        argument: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<i64, CommandError> {
        self.next_number(argument, range, "")
    }

    /// The same for a time in milliseconds.
    pub(crate) fn next_ms(
        &mut self,
        argument: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<i64, CommandError> {
        self.next_number(argument, range, " ms")
    }

    fn next_number(
        &mut self,
        argument: &'static str,
        range: RangeInclusive<i64>,
        unit: &'static str,
    ) -> Result<i64, CommandError> {
        let raw = self.pop().ok_or(CommandError::Syntax)?;
        let (min, max) = (*range.start(), *range.end());
        integer::parse(raw.bytes())
            .filter(|value| range.contains(value))
            .ok_or(CommandError::NotInRange { argument, min, max, unit })
    }

    /// The next argument as the id of a stream's entry.
    pub(crate) fn next_entry_id(&mut self) -> Result<EntryId, CommandError> {
        let raw = self.pop().ok_or(CommandError::Syntax)?;
        EntryId::parse(raw.bytes()).ok_or(CommandError::EntryId)
    }

    /// The number behind `UNITS`, to be given once at most.
    pub(crate) fn next_units(&mut self) -> Result<Units, CommandError> {
        let units = self.next_integer("units", 1..=i64::MAX)?;
        Units::new(units).ok_or(CommandError::Syntax)
    }

    /// The id behind `SALE`.
    pub(crate) fn next_sale(&mut self) -> Result<SaleId, CommandError> {
        let id = self.next_integer("sale", 1..=SaleId::MAX)?;
        SaleId::new(id).ok_or(CommandError::Syntax)
    }

    /// The number behind `COUNT`.
    pub(crate) fn next_count(&mut self) -> Result<Count, CommandError> {
        let raw = self.pop().ok_or(CommandError::Syntax)?;
        integer::parse(raw.bytes()).and_then(Count::new).ok_or(CommandError::NotInRange {
            argument: "count",
            min: 1,
            max: Count::MAX,
            unit: "",
        })
    }

    /// All that is left, as pairs, of which there must be one to `max`. Their lengths are for the
    /// caller to check, by [`checked_len`]: one that is too long is no error of the others.
    pub(crate) fn pairs<A: Argument<'a>, B: Argument<'a>>(
        self,
        max: usize,
    ) -> Result<Vec<(A, B)>, CommandError> {
        let pairs = self.0.chunks(2);
        if pairs.len() > max {
            return Err(CommandError::TooManyPairs { max });
        }
        let pair = |pair: &[Str<'a>]| match *pair {
            [first, second] => Ok((A::of(first), B::of(second))),
            _ => Err(CommandError::OddPairs),
        };
        pairs.map(pair).collect()
    }

    /// The next argument as the cursor of a command that works in steps.
    pub(crate) fn next_cursor(&mut self) -> Result<&'a [u8], CommandError> {
        self.pop().map(Str::bytes).ok_or(CommandError::Syntax)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses what is left over.
    pub(crate) fn finish(self) -> Result<(), CommandError> {
        if self.0.is_empty() { Ok(()) } else { Err(CommandError::Syntax) }
    }

    fn pop(&mut self) -> Option<Str<'a>> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
}

/// Refuses, where the setting says so, a user and an order id that no database can store as text.
#[inline]
pub(crate) fn check_storable(user: Str<'_>, id: Str<'_>) -> Result<(), CommandError> {
    if config::wants_storable_names() { check_text([user, id]) } else { Ok(()) }
}

#[cold]
fn check_text(names: [Str<'_>; 2]) -> Result<(), CommandError> {
    for (name, argument) in names.into_iter().zip(["user", "orderid"]) {
        if !std::str::from_utf8(name.bytes()).is_ok_and(|text| !text.contains('\0')) {
            return Err(CommandError::Unstorable { argument });
        }
    }
    Ok(())
}

/// The length of an argument in bytes; an error if it is longer than its kind may be.
#[inline]
pub(crate) fn checked_len<'a, A: Argument<'a>>(raw: Str<'a>) -> Result<usize, CommandError> {
    let len = raw.bytes().len();
    A::BOUNDED.map_or(Ok(()), |argument| check_bound(len, argument))?;
    Ok(len)
}

#[inline]
fn check_bound(len: usize, argument: &'static str) -> Result<(), CommandError> {
    let max = config::name_bytes_max();
    if len > max { Err(CommandError::TooLong { argument, max }) } else { Ok(()) }
}
