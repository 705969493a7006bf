//! The arguments of a command, read by their declaration: what COMMAND DOCS shows of it, and what
//! errors say, is what it is read by.

use crate::config;
use crate::error::{CommandError, Needs, Options};
use crate::server::{ArgKind, ArgSpec, Str};
use crate::typed::{Argument, LockName, Voucher};
use domain::entry_id::EntryId;
use domain::integer;
use domain::key_names::BadLockName;
use domain::order_id::Count;
use domain::rules::{Millis, SaleId, is_in_seconds};
use domain::sale::Units;

/// The arguments of a command, as one value.
pub(crate) trait Arguments<'a>: Sized {
    const ALL: &'static [ArgSpec];

    /// Reads those that are always there.
    fn begin(args: &mut Args<'a>) -> Result<Self, CommandError>;

    /// Reads the next option. False if there is none, or it was given before.
    fn option(&mut self, args: &mut Args<'a>) -> Result<bool, CommandError>;

    #[inline]
    fn read(mut args: Args<'a>) -> Result<Self, CommandError> {
        let mut given = Self::begin(&mut args)?;
        while !args.is_empty() {
            if !given.option(&mut args)? {
                return Err(CommandError::Syntax { options: Options(Self::ALL) });
            }
        }
        Ok(given)
    }
}

/// Declares the arguments of a command: the fields of a type, each with its [`ArgSpec`]. Those in
/// brackets are options, which follow the others in any order.
macro_rules! arguments {
    (
        $(#[$doc:meta])*
        $name:ident<$life:lifetime> {
            $($field:ident: $type:ty = $spec:expr,)*
            $([$option:ident: $option_type:ty = $option_spec:expr])*
        }
    ) => {
        $(#[$doc])*
        pub(super) struct $name<$life> {
            $(pub(super) $field: $type,)*
            $(pub(super) $option: Option<$option_type>,)*
        }

        impl $name<'_> {
            pub(super) const SPECS: $crate::server::Declared = $crate::server::Declared::new(
                <Self as $crate::args::Arguments<'_>>::ALL,
            );
        }

        impl<$life> $crate::args::Arguments<$life> for $name<$life> {
            const ALL: &'static [$crate::server::ArgSpec] =
                &[$($spec,)* $($option_spec.optional(),)*];

            #[inline]
            fn begin(
                args: &mut $crate::args::Args<$life>,
            ) -> Result<Self, $crate::error::CommandError> {
                Ok(Self {
                    $($field: $crate::args::Value::read(args, const { &$spec })?,)*
                    $($option: None,)*
                })
            }

            #[inline]
            fn option(
                &mut self,
                _args: &mut $crate::args::Args<$life>,
            ) -> Result<bool, $crate::error::CommandError> {
                $(if self.$option.is_none() && _args.take_word(const { &$option_spec }) {
                    self.$option = Some($crate::args::Value::read(_args, const { &$option_spec })?);
                    return Ok(true);
                })*
                Ok(false)
            }
        }
    };
}
pub(crate) use arguments;

/// The arguments not read yet.
pub(crate) struct Args<'a>(&'a [Str<'a>]);

impl<'a> Args<'a> {
    pub(crate) fn new(arguments: &'a [Str<'a>]) -> Self {
        Self(arguments)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the word before an argument, if it is next.
    pub(crate) fn take_word(&mut self, spec: &ArgSpec) -> bool {
        let Some((next, rest)) = self.0.split_first() else { return false };
        let is_next =
            spec.word.is_some_and(|word| next.bytes().eq_ignore_ascii_case(word.to_bytes()));
        if is_next {
            self.0 = rest;
        }
        is_next
    }

    /// Takes the value of an argument. The server has checked how many words there are.
    #[inline]
    fn take(&mut self, spec: &'static ArgSpec) -> Result<Str<'a>, CommandError> {
        let Some((first, rest)) = self.0.split_first() else { return Err(lacking(spec)) };
        self.0 = rest;
        Ok(*first)
    }
}

#[cold]
fn lacking(argument: &'static ArgSpec) -> CommandError {
    CommandError::Lacking { what: Needs(argument) }
}

/// The value of an argument, which is read as its declaration says; the word before it is taken.
pub(crate) trait Value<'a>: Sized {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError>;
}

impl<'a, A: Argument<'a>> Value<'a> for A {
    #[inline]
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        let text = args.take(spec)?;
        checked_len::<A>(text, spec)?;
        Ok(A::of(text))
    }
}

impl Value<'_> for i64 {
    fn read(args: &mut Args<'_>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        let text = args.take(spec)?;
        let ArgKind::Integer { min, max, unit } = spec.kind else { return Err(lacking(spec)) };
        let max = max.now();
        integer::parse(text.bytes())
            .filter(|value| (min..=max).contains(value))
            .ok_or(CommandError::NotInRange { argument: spec.label(), min, max, unit })
    }
}

/// A moment in milliseconds, or 0.
pub(crate) struct Moment(pub(crate) Millis);

impl Value<'_> for Moment {
    fn read(args: &mut Args<'_>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        let moment = i64::read(args, spec)?;
        let argument = spec.label();
        if is_in_seconds(moment) {
            Err(CommandError::Seconds { argument })
        } else {
            Ok(Self(moment))
        }
    }
}

/// Integers whose range is that of their type.
macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Value<'_> for $type {
            fn read(args: &mut Args<'_>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
                <$type>::new(i64::read(args, spec)?).ok_or(lacking(spec))
            }
        }
    )*};
}

integers! { Units SaleId Count }

impl Value<'_> for EntryId {
    fn read(args: &mut Args<'_>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        EntryId::parse(args.take(spec)?.bytes()).ok_or(CommandError::EntryId)
    }
}

/// The key of a lock that is to change hands. As long as ids at most: its name is kept for those
/// who wait.
impl<'a> Value<'a> for LockName<'a> {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        let name = args.take(spec)?;
        check_bound(name.bytes().len(), spec)?;
        match config::check_lock_name(name.bytes()) {
            Ok(()) => Ok(Self(name)),
            Err(BadLockName::Fence) => Err(CommandError::FenceKey),
            Err(BadLockName::Own) => Err(CommandError::OwnKey),
        }
    }
}

/// A word was said, and that is all.
pub(crate) struct Said;

impl Value<'_> for Said {
    fn read(_: &mut Args<'_>, _: &'static ArgSpec) -> Result<Self, CommandError> {
        Ok(Self)
    }
}

/// One of two ways to say something.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

impl<'a, A: Value<'a>, B: Value<'a>> Value<'a> for Either<A, B> {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        let ArgKind::OneOf([first, second]) = &spec.kind else { return Err(lacking(spec)) };
        if args.take_word(second) {
            B::read(args, second).map(Self::Second)
        } else if first.word.is_none() || args.take_word(first) {
            A::read(args, first).map(Self::First)
        } else {
            Err(lacking(spec))
        }
    }
}

impl<'a, A: Value<'a>, B: Value<'a>> Value<'a> for (A, B) {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        match &spec.kind {
            ArgKind::Block([a, b]) if args.0.len() >= 2 => {
                Ok((A::read(args, a)?, B::read(args, b)?))
            }
            _ => Err(lacking(spec)),
        }
    }
}

impl<'a, A: Value<'a>> Value<'a> for [A; 3] {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        match &spec.kind {
            ArgKind::Block([a, b, c]) if args.0.len() >= 3 => {
                Ok([A::read(args, a)?, A::read(args, b)?, A::read(args, c)?])
            }
            _ => Err(lacking(spec)),
        }
    }
}

/// An argument that may be left out, without a word before it.
impl<'a, A: Value<'a>> Value<'a> for Option<A> {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        if args.is_empty() { Ok(None) } else { A::read(args, spec).map(Some) }
    }
}

/// All that is left, as pairs. Their lengths are for the caller to check, by [`checked_len`]: one
/// that is too long is no error of the others.
impl<'a, A: Argument<'a>, B: Argument<'a>> Value<'a> for Vec<(A, B)> {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        let ArgKind::Repeated { max, .. } = spec.kind else { return Err(lacking(spec)) };
        let pairs = std::mem::take(&mut args.0).chunks(2);
        if pairs.len() > max {
            return Err(CommandError::TooManyPairs { max });
        }
        let pair = |pair: &[Str<'a>]| match *pair {
            [first, second] => Ok((A::of(first), B::of(second))),
            _ => Err(CommandError::OddPairs { command: "seckill.mtry" }),
        };
        pairs.map(pair).collect()
    }
}

/// The articles of a cart: vouchers, and how many units of each. All of them can be read.
pub(crate) struct Articles<'a>(&'a [Str<'a>]);

impl<'a> Articles<'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Voucher<'a>, Units)> {
        let pairs = self.0.as_chunks::<2>().0.iter();
        pairs.filter_map(|[voucher, units]| {
            Some((Voucher(*voucher), Units::new(integer::parse(units.bytes())?)?))
        })
    }
}

impl<'a> Value<'a> for Articles<'a> {
    fn read(args: &mut Args<'a>, spec: &'static ArgSpec) -> Result<Self, CommandError> {
        let ArgKind::Repeated { parts: [voucher, units], max, then } = spec.kind else {
            return Err(lacking(spec));
        };
        let articles = args.0.split_at_checked(args.0.len().saturating_sub(then));
        let (articles, _) = articles.unwrap_or_default();
        if articles.len() % 2 != 0 {
            return Err(CommandError::OddPairs { command: "seckill.tryall" });
        }
        if articles.len() / 2 > max {
            return Err(CommandError::TooManyArticles { max });
        }
        for _ in 0..articles.len() / 2 {
            Voucher::read(args, voucher)?;
            Units::read(args, units)?;
        }
        Ok(Self(articles))
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

/// The length of an argument in bytes; an error if it is longer or shorter than its kind may be.
#[inline]
pub(crate) fn checked_len<'a, A: Argument<'a>>(
    text: Str<'a>,
    spec: &ArgSpec,
) -> Result<usize, CommandError> {
    if !A::IS_BOUNDED && A::MAY_BE_EMPTY {
        return Ok(0);
    }
    let len = text.bytes().len();
    if A::IS_BOUNDED {
        check_bound(len, spec)?;
    }
    if len == 0 && !A::MAY_BE_EMPTY {
        return Err(CommandError::Empty { argument: spec.label() });
    }
    Ok(len)
}

#[inline]
fn check_bound(len: usize, spec: &ArgSpec) -> Result<(), CommandError> {
    let max = config::name_bytes_max();
    if len > max { Err(CommandError::TooLong { argument: spec.label(), max }) } else { Ok(()) }
}
