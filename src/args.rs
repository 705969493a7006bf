//! The arguments of a command, read one by one under the names that the docs give them.

use crate::error::CommandError;
use crate::rules::integer;
use crate::rules::sale::Units;
use crate::server::Str;

/// The longest id: 128 MiB. Four of them fit an entry of a stream, which holds at most 1 GiB.
const ID_LEN_MAX: usize = 128 << 20;

/// An argument of one kind, so that two of them are never mistaken for each other.
pub(crate) trait Argument<'a>: Sized {
    /// What the docs call it.
    const NAME: &'static str;

    fn of(raw: Str<'a>) -> Self;
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident($argument:literal);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<'a>(pub(crate) Str<'a>);

        impl<'a> Argument<'a> for $name<'a> {
            const NAME: &'static str = $argument;

            fn of(raw: Str<'a>) -> Self {
                Self(raw)
            }
        }
    )*};
}

arguments! {
    /// What is on sale.
    Voucher("voucher");
    /// Who buys.
    User("user");
    /// The order that an accepted try makes.
    OrderId("orderid");
    /// Who holds a lock.
    Token("token");
    /// A key as the client spelled it.
    KeyName("key");
}

/// The arguments not read yet.
pub(crate) struct Args<'a>(&'a [Str<'a>]);

impl<'a> Args<'a> {
    pub(crate) fn new(arguments: &'a [Str<'a>]) -> Self {
        Self(arguments)
    }

    /// The next argument. The arity was checked, so that none is left is a syntax error.
    pub(crate) fn next<A: Argument<'a>>(&mut self) -> Result<A, CommandError> {
        let raw = self.pop().ok_or(CommandError::Syntax)?;
        if raw.bytes().len() > ID_LEN_MAX {
            return Err(CommandError::TooLong { argument: A::NAME, max: ID_LEN_MAX });
        }
        Ok(A::of(raw))
    }

    /// The next argument as an order id of the caller's own making.
    pub(crate) fn next_order_id(&mut self) -> Result<OrderId<'a>, CommandError> {
        let id: OrderId<'a> = self.next()?;
        if id.0.bytes() == b"*" { Err(CommandError::GeneratedId) } else { Ok(id) }
    }

    /// Takes the next argument if it is `word`, in any case.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let is_next =
            self.0.first().is_some_and(|next| next.bytes().eq_ignore_ascii_case(word.as_bytes()));
        if is_next {
            self.pop();
        }
        is_next
    }

    /// The number behind `UNITS`.
    pub(crate) fn next_units(&mut self) -> Result<Units, CommandError> {
        let raw = self.pop().ok_or(CommandError::Syntax)?;
        integer::parse(raw.bytes()).and_then(Units::new).ok_or(CommandError::NotInRange {
            argument: "units",
            min: 1,
            max: i64::MAX,
        })
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
