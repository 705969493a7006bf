//! What is wrong with a script, from what it did alone, in words for whoever wrote it.

use std::collections::BTreeMap;

use crate::codes::{Accepted, Change, Codes, Runs};
use crate::scenario::{self, Ran};
use crate::shape::{Shape, Try};
use crate::template::Template;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    /// It does not do what it is for.
    Broken,
    /// It does, until something around it goes wrong.
    Weak,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub weight: Weight,
    /// A word for programs, never changed.
    pub code: &'static str,
    pub text: String,
}

impl Finding {
    pub fn broken(code: &'static str, text: impl Into<String>) -> Self {
        Self { weight: Weight::Broken, code, text: text.into() }
    }

    pub fn weak(code: &'static str, text: impl Into<String>) -> Self {
        Self { weight: Weight::Weak, code, text: text.into() }
    }
}

/// Everything known of a script on a standalone server.
pub struct Facts<'a> {
    pub shape: &'a Shape,
    pub codes: &'a Codes,
    pub runs: &'a Runs,
    pub tries: &'a BTreeMap<&'static str, Vec<Try>>,
}

impl Facts<'_> {
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.sale();
        if findings.is_empty() {
            findings.extend(self.limits());
        }
        findings.extend(self.missing());
        findings.extend(self.negative());
        findings.extend(self.partial());
        findings.extend(self.expiry());
        findings.extend(self.odd());
        findings.extend(self.identity());
        findings
    }

    /// The change of a try of a scenario.
    fn change(&self, name: &str, number: usize) -> Change {
        let ran = &self.runs[name];
        let a_try = &self.tries[name][number];
        Change::of(self.shape, a_try, &ran.states[number], &ran.states[number + 1])
    }

    /// Does a sale to one user with 5 units left work at all?
    fn sale(&self) -> Vec<Finding> {
        let ran = &self.runs[scenario::BUYS];
        let reply = ran.first();
        let change = self.change(scenario::BUYS, 0);
        if reply.is_error() && change.is_none() && ran.silent(0) {
            return vec![Finding::broken(
                "sells-to-nobody",
                format!("It sells to nobody. Every try ends in this: {reply}."),
            )];
        }
        if reply.is_error() {
            return vec![Finding::broken(
                "deducts-then-fails",
                format!(
                    "It takes the unit and then fails, every time: {reply}. {}",
                    self.left_behind(&change)
                ),
            )];
        }
        if change.is_none() && ran.silent(0) {
            let text = "It sells to nobody: a new user, with 5 units left, is told";
            let as_bought = "what a user is told who has bought. A query such as SISMEMBER \
                replies 0 or 1, and in Lua 0 counts as true: compare it with 1.";
            return vec![if self.asks_buyers() {
                Finding::broken("always-duplicate", format!("{text} {reply}, {as_bought}"))
            } else {
                Finding::broken("sells-to-nobody", format!("{text} {reply}."))
            }];
        }
        let mut findings = Vec::new();
        // Some count the buyers, and leave the stock as it is.
        if change.units == 0 && self.sold_of_ten() > 10 {
            findings.push(Finding::broken(
                "never-takes-stock",
                "It never takes a unit off the stock, so it oversells for ever.",
            ));
        } else if change.units > 1 || change.units < 0 {
            findings.push(Finding::broken(
                "wrong-units",
                format!("It takes {} units off the stock for one sale.", change.units),
            ));
        }
        if self.shape.buyers.is_some() && change.buyers == 0 {
            findings.push(Finding::broken(
                "forgets-buyers",
                "It never remembers who has bought, so a user can buy all there is.",
            ));
        }
        findings
    }

    /// Whether the buyers are the last thing that it asks for.
    fn asks_buyers(&self) -> bool {
        self.shape.buyers.as_ref().is_some_and(|buyers| self.shape.touched.last() == Some(buyers))
    }

    fn left_behind(&self, change: &Change) -> String {
        let mut parts = Vec::new();
        if change.units > 0 {
            parts.push("the unit is gone");
        }
        if change.buyers > 0 {
            parts.push("the user is remembered as a buyer and can't try again");
        }
        if change.orders == 0 && self.shape.stream_key(&self.tries[scenario::BUYS][0]).is_some() {
            parts.push("there is no order");
        }
        let text = parts.join(", ");
        let mut letters = text.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).chain(['.']).collect()
    }

    /// How many of 30 users got one of 10 units.
    fn sold_of_ten(&self) -> usize {
        let name = scenario::MANY;
        let sold = |number: &usize| self.change(name, *number).is_sale();
        (0..self.tries[name].len()).filter(sold).count()
    }

    /// Is the stock a limit, and one a user?
    fn limits(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let sold = self.sold_of_ten();
        if sold >= 30 {
            findings.push(Finding::broken(
                "oversells-for-ever",
                format!("It oversells for ever: {sold} of 30 users bought 10 units."),
            ));
        } else if sold > 10 {
            findings.push(Finding::broken(
                "oversells",
                format!("It oversells: {sold} users bought 10 units."),
            ));
        } else if sold < 10 {
            findings.push(Finding::broken(
                "undersells",
                format!("It sells {sold} of 10 units, though 30 users want one."),
            ));
        }
        let again = self.change(scenario::BOUGHT, 1);
        let knows_users = self.shape.user.is_some();
        if again.units > 0 || again.orders > 0 {
            let twice = || Finding::broken("sells-twice", "It sells to the same user again.");
            findings.extend(knows_users.then(twice));
        } else if again.is_sale() || self.runs[scenario::BOUGHT].replies[1].is_error() {
            let reply = &self.runs[scenario::BOUGHT].replies[1];
            let text = format!(
                "A user who has bought and tries again leaves traces, or an error: {reply}."
            );
            findings.push(Finding::broken("duplicate-leaves-traces", text));
        }
        let (sold_out, accepted) = (&self.runs[scenario::SOLD_OUT], &self.codes.accepted);
        let told = sold_out.first();
        if sold_out.silent(0) && *accepted == Some(Accepted::Code(told.clone())) {
            let text =
                format!("A user is told {told} when all is sold, and {told} after buying, too.");
            findings.push(Finding::broken("one-reply", text));
        } else if told.is_error() {
            let text = format!("When all is sold it ends in an error: {told}.");
            findings.push(Finding::broken("sold-out-fails", text));
        }
        findings
    }

    fn missing(&self) -> Option<Finding> {
        let ran = &self.runs[scenario::MISSING];
        if self.change(scenario::MISSING, 0).is_sale() {
            let text = "It sells when there is no stock key at all: before the warm-up, or after \
                the key has expired.";
            return Some(Finding::broken("sells-without-stock", text));
        }
        let text = "It crashes when the stock key is missing, before the warm-up or after it has \
            expired";
        let crash = || Finding::weak("missing-stock", format!("{text}: {}.", ran.first()));
        ran.first().is_error().then(crash)
    }

    fn negative(&self) -> Option<Finding> {
        let sold = [scenario::MINUS_ONE, scenario::MINUS_FIVE]
            .into_iter()
            .filter(|name| self.change(name, 0).units > 0)
            .count();
        let text = "It sells from a stock below zero.";
        (sold > 0).then(|| Finding::broken("sells-below-zero", text))
    }

    /// What it leaves behind where it fails.
    fn partial(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, what) in [
            (
                scenario::STREAM_SPOILED,
                "the stream's key is of another type, or the stream is full",
            ),
            (scenario::BUYERS_SPOILED, "the buyers' key is of another type"),
        ] {
            let Some(ran) = self.runs.get(name) else { continue };
            let change = self.change(name, 0);
            if ran.first().is_error() && !ran.silent(0) {
                let text =
                    format!("It writes half a sale when {what}. {}", self.left_behind(&change));
                findings.push(Finding::weak("partial-write", text));
            }
        }
        findings
    }

    fn expiry(&self) -> Option<Finding> {
        let ran = &self.runs[scenario::LASTING];
        let key = self.shape.stock_key(&self.tries[scenario::LASTING][0]);
        let lost = self.change(scenario::LASTING, 0).units > 0
            && ran.after().get(&key).is_some_and(|stock| !stock.expires);
        let text = "The first sale takes the time to live off the stock: it never expires any more \
            (SET does that; DECR does not).";
        lost.then(|| Finding::broken("loses-expiry", text))
    }

    fn odd(&self) -> Option<Finding> {
        let name = scenario::ODD;
        let ran = &self.runs[name];
        let works = self.change(scenario::BUYS, 0).units > 0;
        // The last one is the second user once more.
        let users = self.tries[name].len().saturating_sub(1);
        let refused = |number: &usize| !self.change(name, *number).is_sale();
        let refused = (0..users).find(refused).filter(|_| works)?;
        let user = self.tries[name][refused].user.escape_ascii().to_string();
        let reply = &ran.replies[refused];
        let text = format!("The user \"{user}\" can't buy, and is told {reply}.");
        Some(Finding::weak("odd-users", text))
    }

    /// Do the keys belong to the voucher, and the order id to the order?
    fn identity(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let shape = self.shape;
        let has =
            |key: &Template, slot| slot != shape.voucher && key.slots().any(|s| Some(s) == slot);
        if let Some(buyers) = &shape.buyers {
            let shown = buyers.shown(&|slot| shape.name(slot));
            if has(buyers, shape.user) {
                let text = format!(
                    "It remembers buyers by user and not by voucher ({shown}): who has bought one \
                     voucher can buy no other."
                );
                findings.push(Finding::broken("buyers-of-user", text));
            } else if *buyers == shape.stock {
                let text = format!("The stock and the buyers are the same key ({shown}).");
                findings.push(Finding::broken("one-key", text));
            }
        }
        if shape.orders.is_some() && shape.order.is_some() && shape.order == shape.user {
            let text = "It writes the user into the order as the order id.";
            findings.push(Finding::broken("order-id-is-user", text));
        }
        findings
    }
}

/// Whether anything in a run was refused while something was written.
pub fn half_done(ran: &Ran) -> bool {
    (0..ran.replies.len()).any(|number| ran.replies[number].is_error() && !ran.silent(number))
}
