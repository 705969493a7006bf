//! What is explored: several models, each to its end.

use crate::model::Bounds;
use crate::shop::Kind;

/// One order of two units, one payment with UNITS, one loss.
pub const HELD: Bounds = Bounds {
    name: "held",
    kind: Kind::One,
    is_held: true,
    units: 2,
    total: 3,
    is_stated: true,
    commands: 5,
    losses: 1,
    resolves: 0,
    references: 1,
    keeps: true,
    refunds: true,
    norestock: true,
    others: true,
    fewer: true,
    wrong: false,
};

pub const ONCE: Bounds = Bounds { name: "sold at once", is_held: false, references: 2, ..HELD };

/// Two payments of an order, and few other courses.
const TWO_PAYMENTS: Bounds =
    Bounds { references: 2, commands: 4, norestock: false, others: false, fewer: false, ..HELD };

/// Two payments, two losses.
pub const LOSSES: Bounds = Bounds { name: "two losses", losses: 2, ..TWO_PAYMENTS };

/// Payments that do not say for how many units they are.
pub const UNSTATED: Bounds = Bounds { name: "without UNITS", is_stated: false, ..TWO_PAYMENTS };

/// The shop says other UNITS than were paid.
pub const MISSTATED: Bounds =
    Bounds { name: "wrong UNITS", references: 1, wrong: true, ..TWO_PAYMENTS };

/// Two orders, and one reference at both.
pub const TWO: Bounds = Bounds {
    name: "two orders",
    kind: Kind::Two,
    units: 1,
    total: 2,
    commands: 4,
    keeps: false,
    norestock: false,
    others: false,
    fewer: false,
    ..HELD
};

pub const CART: Bounds = Bounds { name: "cart", kind: Kind::Cart, total: 1, commands: 5, ..TWO };

/// A cart whose payment does not say for how many units of each part it is.
pub const CART_UNSTATED: Bounds =
    Bounds { name: "cart without UNITS", is_stated: false, references: 1, ..CART };

/// One order id of two users.
pub const USERS: Bounds =
    Bounds { name: "two users", kind: Kind::Users, commands: 5, references: 1, ..TWO };

/// The same, sold at once, and an operator who stops anywhere.
pub const USERS_ONCE: Bounds =
    Bounds { name: "two users at once", is_held: false, resolves: 1, ..USERS };

/// Two orders that are sold at once, and one reference at both.
pub const TWO_ONCE: Bounds =
    Bounds { name: "two orders at once", is_held: false, commands: 5, references: 1, ..TWO };

/// A loss, and operators who stop anywhere.
pub const RESOLVE: Bounds = Bounds {
    name: "resolve",
    resolves: 1,
    commands: 3,
    norestock: false,
    others: false,
    fewer: false,
    ..HELD
};

/// The same, of an order that is paid twice.
pub const RESOLVE_TWICE: Bounds = Bounds {
    name: "resolve of two payments",
    units: 1,
    total: 1,
    commands: 5,
    references: 2,
    keeps: false,
    ..RESOLVE
};

/// The same, further: another loss, another operator, more commands.
pub fn further(bounds: Bounds) -> Bounds {
    let (commands, losses) = (bounds.commands + 1, bounds.losses + 1);
    let resolves = bounds.resolves + u8::from(bounds.resolves > 0);
    Bounds { commands, losses, resolves, ..bounds }
}

/// Bounds by their words; numbers of units, total, commands, losses, resolves, payments.
pub fn of_text(text: &str) -> Bounds {
    let mut bounds = Bounds { name: "bounds", units: 1, total: 1, ..HELD };
    (bounds.keeps, bounds.refunds, bounds.norestock) = (false, false, false);
    (bounds.others, bounds.fewer, bounds.wrong) = (false, false, false);
    for word in text.split(' ') {
        let number = || word[1..].parse::<u8>().unwrap_or_else(|_| panic!("{word}"));
        match word {
            "one" => bounds.kind = Kind::One,
            "two" => bounds.kind = Kind::Two,
            "cart" => bounds.kind = Kind::Cart,
            "users" => bounds.kind = Kind::Users,
            "once" => bounds.is_held = false,
            "held" => bounds.is_held = true,
            "stated" => bounds.is_stated = true,
            "unstated" => bounds.is_stated = false,
            "keeps" => bounds.keeps = true,
            "refunds" => bounds.refunds = true,
            "norestock" => bounds.norestock = true,
            "others" => bounds.others = true,
            "fewer" => bounds.fewer = true,
            "wrong" => bounds.wrong = true,
            _ => match &word[..1] {
                "u" => bounds.units = number().into(),
                "t" => bounds.total = number().into(),
                "c" => bounds.commands = number(),
                "l" => bounds.losses = number(),
                "r" => bounds.resolves = number(),
                "p" => bounds.references = number(),
                _ => panic!("{word}"),
            },
        }
    }
    bounds
}
