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
    databases: 0,
    resolves: 0,
    references: 1,
    keeps: true,
    refunds: true,
    norestock: true,
    others: true,
    fewer: true,
    wrong: false,
    alters: false,
    drops: false,
    named: false,
};

pub const ONCE: Bounds = Bounds { name: "sold at once", is_held: false, references: 2, ..HELD };

/// Two payments of an order, and few other courses.
const TWO_PAYMENTS: Bounds =
    Bounds { references: 2, commands: 4, norestock: false, others: false, fewer: false, ..HELD };

/// Two payments, two losses.
pub const LOSSES: Bounds = Bounds { name: "two losses", losses: 2, ..TWO_PAYMENTS };

/// Payments that do not say for how many units they are.
pub const UNSTATED: Bounds = Bounds { name: "without UNITS", is_stated: false, ..TWO_PAYMENTS };

/// The shop says other UNITS than were paid, and two losses.
pub const MISSTATED: Bounds =
    Bounds { name: "wrong UNITS", losses: 2, references: 1, wrong: true, fewer: true, ..LOSSES };

/// The database alone returns to a backup, after HOLD has changed, or not.
pub const DATABASE: Bounds =
    Bounds { name: "database", losses: 0, databases: 1, alters: true, ..TWO_PAYMENTS };

pub const DATABASE_UNSTATED: Bounds =
    Bounds { name: "database without UNITS", is_stated: false, references: 1, ..DATABASE };

/// Server and database are older, in either order.
pub const BOTH: Bounds = Bounds { name: "both", losses: 1, alters: false, ..DATABASE_OF_ONE };

/// The same of an order that is sold at once.
pub const BOTH_ONCE: Bounds = Bounds { name: "both at once", is_held: false, commands: 5, ..BOTH };

/// The same, of one payment.
const DATABASE_OF_ONE: Bounds = Bounds { references: 1, ..DATABASE };

/// The database returns to a backup, and an operator stops anywhere.
pub const DATABASE_RESOLVE: Bounds = Bounds {
    name: "database and resolve",
    commands: 3,
    resolves: 1,
    alters: false,
    ..DATABASE_OF_ONE
};

/// The sale is ended and dropped, with a check before or without, and its payments come late.
pub const DROPPED: Bounds =
    Bounds { name: "dropped", commands: 5, alters: false, drops: true, ..DATABASE_OF_ONE };

/// Then there is another sale, with an order of the same id, and a loss.
pub const SALES: Bounds = Bounds {
    name: "two sales",
    kind: Kind::Sales,
    units: 1,
    total: 1,
    databases: 0,
    losses: 1,
    keeps: false,
    named: true,
    ..DROPPED
};

/// Or the database is older.
pub const SALES_DATABASE: Bounds =
    Bounds { name: "two sales and database", databases: 1, losses: 0, ..SALES };

/// Confirmations don't name their sale.
pub const SALES_UNNAMED: Bounds =
    Bounds { name: "two sales, not named", is_held: false, named: false, ..SALES };

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
pub const RESOLVE: Bounds =
    Bounds { name: "resolve", resolves: 1, commands: 3, others: false, fewer: false, ..HELD };

/// The same, of an order that is paid twice.
pub const RESOLVE_TWICE: Bounds = Bounds {
    name: "resolve of two payments",
    units: 1,
    total: 1,
    commands: 5,
    references: 2,
    keeps: false,
    norestock: false,
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
            "sales" => bounds.kind = Kind::Sales,
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
            "alters" => bounds.alters = true,
            "drops" => bounds.drops = true,
            "named" => bounds.named = true,
            _ => match &word[..1] {
                "u" => bounds.units = number().into(),
                "t" => bounds.total = number().into(),
                "c" => bounds.commands = number(),
                "l" => bounds.losses = number(),
                "d" => bounds.databases = number(),
                "r" => bounds.resolves = number(),
                "p" => bounds.references = number(),
                _ => panic!("{word}"),
            },
        }
    }
    bounds
}
