//! What a script does that a line has no part in.

use super::*;

/// How a stock or a lock is asked what no command of the module looks at.
const TIMES: [&str; 5] = ["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "OBJECT"];

/// How buyers are asked for one of them, or for what says nothing of them.
const ASKS: [&str; 6] = ["SISMEMBER", "SMISMEMBER", "EXISTS", "TTL", "PTTL", "TYPE"];

impl Comparison<'_, '_, '_> {
    /// What the script does that the line has no part in: it gets another key, or looks at one of
    /// its own in another way than the command does.
    pub(super) fn beside(&self, seen: &Seen, values: &Values) -> Option<String> {
        let text = |key: &Template| key.text(&self.trial.call, values);
        let keys: Vec<Vec<u8>> = self.candidate.keys.iter().map(text).collect();
        let buyers = self.candidate.buyers.as_ref().map(|(buyers, _)| text(buyers));
        let mut written: Vec<&[u8]> = Vec::new();
        for called in &seen.calls {
            let name = called.name();
            if self.candidate.publishes() && called.publishes() {
                continue;
            }
            if called.keys.is_empty() {
                return Some(format!("it calls {name}"));
            }
            for access in &called.keys {
                let key = access.key.as_slice();
                // A reply may tell what the call has written itself.
                let may_read = keys.first().is_some_and(|own| own == key)
                    && !TIMES.contains(&&*name)
                    || written.contains(&key)
                    || buyers.as_deref() == Some(key) && ASKS.contains(&&*name);
                if !keys.iter().any(|own| own == key) || !access.writes && !may_read {
                    let verb = if access.writes { "writes" } else { "reads" };
                    return Some(format!("it {verb} {} by {name}", sanitize_bytes(key)));
                }
                if access.writes {
                    written.push(key);
                }
            }
        }
        None
    }
}
