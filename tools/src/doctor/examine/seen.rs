//! What was seen of a script, in words.

use super::*;

impl Examination<'_, '_> {
    /// Keys that the script makes itself: in a cluster no client finds their node.
    pub(super) fn undeclared(&mut self, unknown: &Call, sale: &Act) {
        let slots = unknown.values(&sale.run.values);
        let keys = sale.run.seen.calls.iter().flat_map(|called| &called.keys);
        let is_declared = |key: &Vec<u8>| {
            slots.iter().any(|(slot, value)| matches!(slot, Slot::Key(_)) && value == key)
        };
        let made = keys.map(|access| &access.key).filter(|key| !is_declared(key));
        let made = made.map(|key| self.shown(&Template::of(key, &slots)));
        let made = made.sorted().dedup().join(", ");
        if !made.is_empty() {
            self.said.saw(format!("It uses keys that are not among its KEYS: {made}."));
        }
    }

    pub(super) fn undecided(&mut self, learned: &Learned) -> Result<()> {
        if learned.sale().is_none() && self.said.seen.is_empty() {
            self.said.saw(match learned.best() {
                Some(run) => {
                    let before = match run.plants.is_empty() {
                        true => "On an empty server".to_owned(),
                        false => format!("After {}", shown_all(&run.setup())),
                    };
                    let calls = run.seen.calls.iter().take(8);
                    let calls = calls.map(|call| shown(&call.words)).join("; ");
                    format!("{before} it called {calls}, and replied {}.", run.seen.reply)
                }
                None => "No call that was tried changed any key.".to_owned(),
            });
        }
        let is_barred = match learned.sale() {
            Some(sale) => !sale.needs.is_empty(),
            None => learned.best().is_none(),
        };
        let run = if is_barred { stopped(&mut self.trial, learned)? } else { None };
        if let Some(run) = run {
            let why = self.trial.script.source.error(&run.seen.reply);
            let text = format!("After {} a call failed: {why}.", shown_all(&run.setup()));
            self.said.saw(text);
        }
        let is_near = learned.acts.iter().any(|act| act.deed != Deed::Return);
        self.said.saw(match is_near {
            true => "No command was found that takes its place.",
            false => {
                "No call that was tried did what a command does: none is known that takes \
                its place."
            }
        });
        if is_of_managed(self.trial.script.source, learned) {
            self.said.saw(
                "It looks at a begin and an end, as managed vouchers do, which have units, a \
                 limit and order ids, too: SECKILL.CREATE makes one, SECKILL.TRY sells it.",
            );
        }
        if !self.trial.call.is_told {
            if String::from_utf8_lossy(self.trial.script.text).contains("cjson.decode") {
                self.said.saw(r#"It decodes JSON: pass what it gets, as --argv '={"id":1}'."#);
            }
            let ask = ask(&self.trial.call, &self.said.path);
            self.said.asks.push(ask);
        }
        Ok(())
    }

    pub(super) fn shown(&self, template: &Template) -> String {
        let of = |part: &Part<Slot>| match part {
            Part::Text(text) => sanitize_bytes(text),
            Part::Place(slot) | Part::Number(slot) => match self.trial.call.word(*slot) {
                Some(word) if word.only().is_some() => word.to_string(),
                _ => slot.to_string(),
            },
        };
        template.0.iter().map(of).collect()
    }
}

/// Whether a script that sells has words for a begin and an end.
fn is_of_managed(source: &Source, learned: &Learned) -> bool {
    const BEGIN: &str = r"(?i)begin|start|\bfrom|\x{5f00}\x{59cb}";
    const END: &str = r#"\bend[_A-Z]|\bend(time|at|ts)\b|(_e|E)nd([_A-Z'"]|\b)|'end'|(?i)deadline"#;
    let text = String::from_utf8_lossy(&source.text);
    let has = |pattern| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&text));
    (learned.sale().is_some() || source.is_of_stock()) && has(BEGIN) && has(END)
}

/// What no command does.
pub(super) fn obstacle(sale: &Act) -> Option<String> {
    if sale.kind != Kind::Text {
        return Some("The stock is in a field of a hash: no command takes it from there.".into());
    }
    if !sale.needs.is_empty() {
        let needs = shown_all(&sale.needs);
        return Some(format!("It did so only after {needs}: no command looks at that."));
    }
    let cuts = |words: &Vec<Template>| {
        let says = |name: &[u8]| {
            let mut constants = words.iter().filter_map(Template::constant);
            constants.any(|word| word.eq_ignore_ascii_case(name))
        };
        says(b"XTRIM") || says(b"XADD") && (says(b"MAXLEN") || says(b"MINID"))
    };
    if sale.extras.iter().any(cuts) {
        let text = "It cuts old entries off a stream: an order that is not read in time is lost. \
            No command does that.";
        return Some(text.into());
    }
    let by_user = |(buyers, user): &(Template, Slot)| buyers.places().any(|slot| slot == *user);
    sale.buyers.as_ref().is_some_and(by_user).then(|| {
        "The set of buyers is named by the user: a user who has bought one voucher is refused \
         every other. No command does that."
            .into()
    })
}
