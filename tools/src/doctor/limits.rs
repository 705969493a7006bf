//! The limits of a script that sells: by the stock, for one unit and for several, and by the user.

use crate::faults::Facts;
use crate::finding::{Accepted, Finding};
use crate::history::{self, Step};

impl Facts<'_> {
    /// How many of 30 users got one of 10 units, by the keys and by the replies.
    pub fn sold_of_ten(&self) -> (usize, usize) {
        let steps = &self.runs[history::MANY].steps;
        let bare = self.traces.is_empty();
        let kept = |step: &&Step| if bare { step.taken() > 0 } else { self.kept(step) };
        (steps.iter().filter(kept).count(), steps.iter().filter(|step| self.told(step)).count())
    }

    /// How many units the script sells to a user, in one of the ways to call it: a number, or `n`
    /// if an argument changes it.
    pub fn limit(all: &[Self], best: usize) -> Option<String> {
        let steps = |facts: &Self| facts.runs[history::OFTEN].steps.len();
        let bought = |facts: &Self| {
            let steps = &facts.runs[history::OFTEN].steps;
            steps.iter().filter(|step| step.taken() > 0).count()
        };
        all[best].sale.user?;
        // The last way to call it differs from the first one only in arguments of unknown meaning.
        let ends = all.first().zip(all.last());
        match bought(&all[best]) {
            _ if ends.is_some_and(|(one, other)| bought(one) != bought(other)) => Some("n".into()),
            own => (own < steps(&all[best])).then(|| own.to_string()),
        }
    }

    /// Is the stock a limit?
    pub fn limits(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (kept, told) = self.sold_of_ten();
        let steps = &self.runs[history::MANY].steps;
        let left = steps.last().and_then(|step| step.after);
        let for_nobody = |step: &&Step| {
            let told = self.codes.sold_out.as_ref() == Some(&step.reply);
            step.before > Some(0) && step.taken() > 0 && !self.kept(step) && told
        };
        let lost = steps.iter().filter(for_nobody).count();
        let varies = self.traces.is_empty() && !matches!(self.codes.accepted, Accepted::Code(_));
        if kept >= 30 && told >= 30 {
            let text = "It oversells forever: all of 30 users get the reply that they bought one \
                        of 10 units, and the keys confirm it.";
            findings.push(Finding::broken("oversells-for-ever", text));
        } else if kept > 10 && told > 10 && !varies {
            let text = format!("It oversells: {told} users bought 10 units.");
            findings.push(Finding::broken("oversells", text));
        } else if told < 10 && kept < 10 && kept > 0 && (left > Some(0) || lost > 0) {
            let rest = match left {
                Some(left @ 1..) => format!("{left} stay in the stock"),
                _ => format!("{lost} leave the stock for users who are refused"),
            };
            let text = format!("It sells {kept} of 10 units, though 30 users want one: {rest}.");
            findings.push(Finding::broken("undersells", text));
        }
        if left < Some(0) && findings.is_empty() {
            let left = left.unwrap_or_default();
            let text = format!(
                "It does not oversell, but the stock drifts below zero: after 30 tries for 10 \
                 units it is {left}, and a restock is that many units short."
            );
            findings.push(Finding::weak("stock-drifts", text));
        }
        findings
    }

    /// Is the stock a limit for several units at once? A number may be compared as a text, and a
    /// script may check for one unit and take several.
    pub fn units(&self) -> Option<Finding> {
        let steps = &self.runs.get(history::UNITS)?.steps;
        let sold = |step: &Step| step.taken() > 0 && self.told(step);
        let asked = || history::asked().zip(steps);
        let over = asked().find(|(_, step)| sold(step) && step.after < Some(0));
        if let Some(((units, stock), step)) = over {
            let left = step.after.unwrap_or_default();
            let text = format!(
                "It oversells: with {stock} in stock it sells {units} at once, and leaves {left}."
            );
            return Some(Finding::broken("oversells", text));
        }
        // It may refuse what is asked for because of a limit, but not because there is more.
        let under = asked().find_map(|((units, stock), step)| {
            let less = step.before.filter(|_| !step.changed)?;
            let sold = asked().filter(|(_, other)| sold(other) && other.before < Some(less));
            let mut others = sold.map(|(asked, _)| asked).filter(|(same, _)| *same == units);
            others.next().map(|(_, fewer)| (units, stock, fewer))
        });
        let (units, stock, fewer) = under?;
        let text = format!(
            "It sells {units} units at once with {fewer} in stock, and refuses them with {stock}."
        );
        Some(Finding::broken("undersells", text))
    }
}
