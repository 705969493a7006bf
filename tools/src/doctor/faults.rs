//! The faults of a script that sells. A fault counts if the replies and the keys both show it,
//! under every reading of the arguments under which the script sells.

use std::collections::BTreeSet;

use crate::finding::{Accepted, Codes, Finding, Runs, left_behind};
use crate::history::{self, Step};
use crate::reply::Reply;
use crate::sale::Sale;
use crate::world::Kind;

/// One script under one reading.
pub struct Facts<'a> {
    pub sale: &'a Sale,
    pub runs: &'a Runs,
    /// Names that a sale creates and a refusal does not.
    pub traces: BTreeSet<Vec<u8>>,
    pub codes: Codes,
}

impl<'a> Facts<'a> {
    pub fn of(sale: &'a Sale, runs: &'a Runs) -> Self {
        let buys = runs[history::BUYS].first();
        let out = runs[history::SOLD_OUT].first();
        let mut traces = buys.made.clone();
        if out.reply != buys.reply {
            traces.retain(|name| !out.made.contains(name));
        }
        let mut facts = Self { sale, runs, traces, codes: Codes::default() };
        facts.codes = facts.learn();
        facts
    }

    /// Whether the keys show that a try got a unit.
    pub fn kept(&self, step: &Step) -> bool {
        if self.traces.is_empty() {
            step.taken() > 0 && step.before > Some(0)
        } else {
            self.traces.is_subset(&step.made)
        }
    }

    fn learn(&self) -> Codes {
        let many = self.runs[history::MANY].steps.iter();
        let two = self.runs[history::LAST].steps.iter().take(1);
        let sold: Vec<&Step> = [self.runs[history::BUYS].first()]
            .into_iter()
            .chain(many)
            .chain(two)
            .filter(|step| self.kept(step) && step.before > Some(0) && !step.reply.is_error())
            .collect();
        let all = |is: &dyn Fn(&Step) -> bool| !sold.is_empty() && sold.iter().all(|step| is(step));
        let first = sold.first().map_or(Reply::Nil, |step| step.reply.clone());
        let number = |reply: &Reply, number: Option<i64>| match (reply, number) {
            (Reply::Int(told), Some(number)) => *told == number,
            (Reply::Text(told), Some(number)) => *told == number.to_string().as_bytes(),
            _ => false,
        };
        let accepted = if all(&|step| step.reply == first) {
            Accepted::Code(first)
        } else if all(&|step| number(&step.reply, step.after)) {
            Accepted::Left
        } else if all(&|step| number(&step.reply, step.before)) {
            Accepted::Before
        } else {
            Accepted::Varies
        };
        let refused = |name: &str, at: usize| {
            let step = self.runs.get(name)?.steps.get(at)?;
            let is_one = accepted == Accepted::Code(step.reply.clone());
            let unsold = !self.kept(step) && !is_one && !step.reply.is_error();
            unsold.then(|| step.reply.clone())
        };
        Codes {
            sold_out: refused(history::SOLD_OUT, 0),
            bought: self.sale.user.and_then(|_| refused(history::BOUGHT, 1)),
            bought_and_out: refused(history::BOUGHT_AND_OUT, 1),
            missing: refused(history::MISSING, 0),
            bought_and_missing: refused(history::GONE, 1),
            unlimited: self.runs[history::MINUS_ONE].steps.first().is_some_and(|step| {
                step.after == Some(-1) && self.traces.is_subset(&step.made) && step.changed
            }),
            accepted,
        }
    }

    /// Whether the reply says that a try got a unit; if replies vary, decided by the keys.
    pub fn told(&self, step: &Step) -> bool {
        match &self.codes.accepted {
            Accepted::Code(code) => step.reply == *code,
            _ => self.kept(step) && !step.reply.refuses(),
        }
    }

    fn step(&self, name: &str, at: usize) -> &Step {
        &self.runs[name].steps[at]
    }

    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.limits();
        findings.extend(self.units());
        findings.extend(self.repeats());
        findings.extend(self.replies());
        findings.extend(self.odd_stock());
        findings.extend(self.expiry());
        findings.extend(self.partial());
        findings.extend(self.odd_users());
        findings.extend(self.identity());
        findings
    }

    /// Is it one per user?
    fn repeats(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Some(user) = self.sale.user else { return findings };
        let steps = &self.runs[history::OFTEN].steps;
        let again = self.step(history::BOUGHT, 1);
        let all = steps.iter().all(|step| step.taken() > 0 && !step.reply.refuses());
        let told = steps.iter().all(|step| match &self.codes.accepted {
            Accepted::Code(code) => step.reply == *code,
            _ => true,
        });
        let of_user = |place: &&crate::sale::Place| place.slots().any(|slot| slot == user);
        let asks = self.sale.looks.iter().any(|place| {
            of_user(&place) && !self.sale.marks.contains(place) && place.kind == Kind::Set
        });
        let remembers = self.sale.marks.iter().any(|place| of_user(&place));
        if all && told && asks && !remembers {
            let text = "It checks whether the user has bought, but records no buyer: the same \
                        user bought 12 times. Unless other code adds the buyer, one user can buy \
                        the whole stock.";
            findings.push(Finding::weak("remembers-nobody", text));
        } else if all && told && asks {
            let text = "It looks for the buyer under one name and records the buyer under \
                        another, so the same user bought 12 times.";
            findings.push(Finding::broken("forgets-buyers", text));
        } else if all && told && self.sale.marks.iter().any(|place| place.kind == Kind::Set) {
            let text = "The same user bought 12 times: it adds the user to a set, but refuses no \
                        try because of it.";
            findings.push(Finding::weak("sells-twice", text));
        }
        let refused = Some(&again.reply) == self.codes.bought.as_ref() || again.reply.refuses();
        if refused && again.taken() > 0 && again.after >= Some(0) {
            let text = format!(
                "A user who has bought and tries again is refused ({}), and a unit is gone from \
                 the stock.",
                again.reply
            );
            findings.push(Finding::broken("repeat-takes-unit", text));
        } else if again.reply.is_error() && !self.step(history::BOUGHT, 0).reply.is_error() {
            let text = format!("A user who has bought gets an error: {}.", again.reply);
            findings.push(Finding::broken("repeat-fails", text));
        }
        findings
    }

    /// Can the caller distinguish the outcomes?
    fn replies(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let out = self.step(history::SOLD_OUT, 0);
        let (kept, _) = self.sold_of_ten();
        if self.codes.accepted == Accepted::Code(out.reply.clone()) && kept <= 10 {
            let text = format!(
                "It replies {0} to an accepted try, and {0} when it is sold out, too.",
                out.reply
            );
            if out.taken() <= 0 {
                findings.push(Finding::broken("one-reply", text));
            }
        } else if out.reply.is_error() {
            let text = format!("When sold out, it ends in an error: {}.", out.reply);
            findings.push(Finding::broken("sold-out-fails", text));
        }
        let refusals = [(&self.codes.sold_out, "sold out"), (&self.codes.bought, "bought before")];
        for (refusal, what) in refusals {
            let Some(refusal) = refusal else { continue };
            let steps = self.runs[history::MANY].steps.iter();
            let sold: Vec<&Step> =
                steps.filter(|step| self.kept(step) && step.taken() > 0).collect();
            let confused = sold.iter().filter(|step| step.reply == *refusal);
            let confused: Vec<i64> = confused.filter_map(|step| step.after).collect();
            if let [left] = confused.as_slice() {
                let which = if *left == 0 {
                    "The buyer of the last unit".to_owned()
                } else {
                    format!("The buyer who leaves {left} units")
                };
                let text = format!(
                    "{which} gets the reply {refusal}, which is also the reply for {what}: the \
                     unit is deducted, and the buyer is refused."
                );
                findings.push(Finding::broken("last-unit", text));
            }
        }
        findings
    }

    fn odd_stock(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let sells = |step: &Step| {
            let bare = self.traces.is_empty();
            let code = matches!(self.codes.accepted, Accepted::Code(_));
            let kept = if bare { code && step.changed } else { self.kept(step) };
            kept && self.told(step) && !step.reply.is_error()
        };
        let missing = self.step(history::MISSING, 0);
        if sells(missing) {
            let text = "It sells when there is no stock key at all: before the warm-up, or after \
                the key has expired.";
            findings.push(if self.traces.is_empty() {
                // A number without buyers that the script creates itself may be a quota.
                Finding::weak("sells-without-stock", text)
            } else {
                Finding::broken("sells-without-stock", text)
            });
        } else if missing.reply.is_error() {
            let text = format!(
                "It crashes when the stock key is missing, before the warm-up or after it has \
                 expired: {}.",
                missing.reply
            );
            findings.push(Finding::weak("missing-stock", text));
        }
        let negative = self.step(history::MINUS_FIVE, 0);
        if sells(negative) && negative.taken() > 0 {
            let text = "It sells from a negative stock, if anything else makes the stock negative.";
            findings.push(Finding::weak("sells-below-zero", text));
        }
        findings
    }

    /// What it leaves in the keys when it fails.
    fn partial(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, what) in [
            (history::STREAM_SPOILED, "the stream's key is of another type, or the stream is full"),
            (history::BUYERS_SPOILED, "the buyers' key is of another type"),
        ] {
            let Some(ran) = self.runs.get(name) else { continue };
            let step = ran.first();
            let took = step.taken() > 0;
            let remembered =
                !self.traces.is_empty() && self.traces.intersection(&step.made).count() > 0;
            if step.reply.is_error() && (took || remembered) {
                let left = left_behind(took, remembered, self.sale.orders.is_some());
                let text = format!("It writes half a sale when {what}. {left}");
                findings.push(Finding::weak("partial-write", text));
            }
        }
        findings
    }

    fn expiry(&self) -> Option<Finding> {
        let ran = &self.runs[history::LASTING];
        let plain = &self.runs[history::BUYS];
        if ran.first().taken() <= 0 {
            return None;
        }
        let key = ran.before.ttl.keys().next()?;
        let seconds = |ttl: &i64| (ttl + 999) / 1000;
        let now = ran.after.ttl.get(key).map(seconds);
        let fresh = plain.after.ttl.get(key).map(seconds);
        match now {
            None if ran.after.has_key(key) => {
                let text = "The first sale removes the stock's time to live, so it no longer \
                            expires (SET does that; DECR does not).";
                Some(Finding::broken("loses-expiry", text))
            }
            Some(now) if (now - 3600).abs() > 5 || fresh.is_some() => {
                let now = fresh.unwrap_or(now);
                let text = format!(
                    "Every sale resets the stock's time to live to {now} s: {now} s after the \
                     latest sale the stock key expires, whatever is left, and until then \
                     it may outlive the sale."
                );
                Some(Finding::weak("touches-expiry", text))
            }
            _ => None,
        }
    }

    fn odd_users(&self) -> Option<Finding> {
        let steps = &self.runs.get(history::ODD)?.steps;
        // The last user is the second one again.
        let users = &steps[..steps.len().saturating_sub(1)];
        let refused = users.iter().position(|step| step.taken() <= 0)?;
        let user = history::odd_user(refused);
        let text = format!("The user \"{user}\" can't buy: it replies {}.", steps[refused].reply);
        Some(Finding::weak("odd-users", text))
    }

    /// Do the keys belong to the voucher, and the order id to the order?
    fn identity(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let sale = self.sale;
        let name = |slot| sale.name(slot);
        let of_user = sale.buyers().filter(|place| {
            place.key.slots().any(|slot| Some(slot) == sale.user)
                && !place.key.slots().any(|slot| Some(slot) == sale.voucher)
        });
        if let (Some(place), Some(ran)) = (of_user, self.runs.get(history::TWO))
            && ran.steps[1].taken() == 0
            && sale.voucher != sale.user
        {
            let text = format!(
                "It remembers buyers by user and not by voucher ({}): a user who has bought one \
                 voucher can buy no other.",
                place.shown(&name)
            );
            findings.push(Finding::broken("buyers-of-user", text));
        }
        let fields = sale.orders.iter().flat_map(|(_, fields)| fields);
        let of_user = fields.filter(|(_, value)| sale.user.is_some() && value.slot() == sale.user);
        let of_user: Vec<&str> = of_user.map(|(name, _)| name.as_str()).collect();
        if of_user.len() > 1 && of_user.contains(&"id") {
            let text = "It writes the user into the order as the order id, too.";
            findings.push(Finding::weak("order-id-is-user", text));
        }
        findings
    }
}
