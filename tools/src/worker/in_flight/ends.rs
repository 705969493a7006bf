//! From rows to the end of entries: acknowledged, dead letters, skipped, or parked.

use std::collections::BTreeSet;
use std::time::Instant;

use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::{Trouble, message, trouble};
use tracing::{debug, error, info, warn};

use super::InFlight;
use crate::dead_letters;
use crate::halt::Halt;
use crate::order_events::{Place, RawOrder, Which};
use crate::parked::{Refusal, Why};
use crate::source::Source;
use crate::totals::Count;

/// How often `--once` tries an entry before it ends.
const ONCE_TRIES: u64 = 3;

impl InFlight {
    /// Acknowledges what is committed, and wakes what may have waited for it.
    pub(super) async fn acknowledge(&mut self, source: &mut Source) -> Result<(), Halt> {
        let places: Vec<_> = self.committed.iter().map(|event| event.place).collect();
        self.end(source, &places).await?;
        let done = std::mem::take(&mut self.committed);
        for event in done.iter().filter(|event| event.is_order()) {
            if self.parked.unstick(&event.key.voucher) {
                let voucher = sanitize(&event.key.voucher);
                info!("orders of voucher {voucher} are written again");
            }
        }
        let vouchers: BTreeSet<&str> = done.iter().map(|event| &*event.key.voucher).collect();
        self.parked.wake(&vouchers, Instant::now());
        self.is_refusing = done.is_empty() && !self.refused.is_empty();
        Ok(())
    }

    /// These entries are done: they are acknowledged, and remembered no more.
    async fn end(&mut self, source: &mut Source, places: &[Place]) -> Result<(), Halt> {
        for which in source.all() {
            let its = places.iter().filter(|(of, _)| *of == which);
            let ids: Vec<_> = its.map(|(_, id)| *id).collect();
            source.acknowledge(which, &ids).await?;
        }
        places.iter().for_each(|place| self.parked.forget(*place));
        Ok(())
    }

    /// Makes garbled entries dead letters. Nothing is released, since no command has written them.
    pub(super) async fn bury(&mut self, source: &mut Source) -> Result<(), Halt> {
        while let Some((which, entry, reason)) = self.garbled.front() {
            let (place, name) = ((*which, entry.id), source.name(*which).to_owned());
            match dead_letters::bury_in_flight(source, *which, entry, reason).await {
                Ok(is_ours) => {
                    if is_ours {
                        warn!(
                            "entry {} of {name} is malformed and was moved to the dead letters: \
                             {reason}",
                            place.1
                        );
                        self.shared.totals.add(Count::DeadLetters, 1);
                        let is_order = usize::from(place.0 == Which::Orders);
                        self.shared.totals.add(Count::Orders, is_order);
                    }
                    self.has_unreadable = true;
                    self.parked.forget(place);
                }
                // The entry stays pending and blocks no other.
                Err(error) if trouble(&error) == Trouble::Wrong || error.code().is_none() => {
                    let text = format!("{reason}; no dead letter can be made: {}", message(&error));
                    let why = Why::Refused(text);
                    self.refused.push_back(Refusal { place, event: None, raw: None, why });
                }
                Err(error) => return Err(error.into()),
            }
            self.garbled.pop_front();
        }
        Ok(())
    }

    /// Confirmations and releases that concern no row are skipped. An order that no row can have
    /// ends with its release.
    pub(super) async fn skip(&mut self, source: &mut Source) -> Result<(), Halt> {
        if self.rowless.is_empty() {
            return Ok(());
        }
        let released = self.rowless.iter().filter(|((which, _), _)| *which == Which::Released);
        let released: BTreeSet<&RawOrder> = released.map(|(_, raw)| raw).collect();
        let mut ended: Vec<Place> = self.rowless.iter().map(|(place, _)| *place).collect();
        let is_ended = |one: &&Refusal| one.raw.as_ref().is_some_and(|raw| released.contains(raw));
        ended.extend(self.refused.iter().filter(is_ended).map(|one| one.place));
        ended.extend(self.parked.ended(&released));
        self.end(source, &ended).await?;
        self.shared.totals.add(Count::Skipped, ended.len());
        for ((which, _), _) in self.rowless.drain(..) {
            let count = if which == Which::Released { Count::Released } else { Count::Confirmed };
            self.shared.totals.add(count, 1);
        }
        let ended: BTreeSet<Place> = ended.into_iter().collect();
        self.refused.retain(|one| !ended.contains(&one.place));
        Ok(())
    }

    /// Parks entries. One line of the log per batch says why.
    pub(super) fn park(&mut self, source: &Source) -> Result<(), Halt> {
        let (mut firsts, mut first) = (0, None);
        while let Some(refusal) = self.refused.pop_front() {
            let ((which, id), reason) = (refusal.place, sanitize(refusal.why.text()));
            let is_unchanged = matches!(refusal.why, Why::Unchanged(_));
            let Some(times) = self.park_one(refusal) else { continue };
            let name = source.name(which);
            debug!("entry {id} of {name} is parked, tried {times} times: {reason}");
            if times > 1 {
                continue;
            }
            if is_unchanged {
                let with_it = match which {
                    Which::Orders => "; orders of this voucher wait with it, others go on",
                    Which::Confirmed | Which::Released => "",
                };
                error!(
                    "entry {id} of {name} can't be written and stays pending: {reason}{with_it}"
                );
            } else {
                firsts += 1;
                first.get_or_insert((format!("entry {id} of {name}"), reason));
            }
        }
        if let Some((entry, reason)) = first {
            let (more, stays) = match firsts {
                1 => (String::new(), "stays"),
                all => (format!(" and {} more", all - 1), "stay"),
            };
            warn!("{entry}{more} can't be written and {stays} pending: {reason}");
        }
        Ok(())
    }

    /// How often the entry was tried; None if it is left to be taken over later.
    fn park_one(&mut self, refusal: Refusal) -> Option<u64> {
        // It is tried again before another worker takes it over.
        let waits = (self.shared.options.retry, self.shared.options.claim_after / 2);
        let (place, voucher) = (refusal.place, refusal.voucher().to_owned());
        let was_crowded = self.parked.is_crowded(&voucher);
        let Some(times) = self.parked.put(refusal, Instant::now(), waits) else {
            if !was_crowded {
                let voucher = sanitize(&String::from_utf8_lossy(&voucher));
                warn!(
                    "too many entries of voucher {voucher} can't be written: the others stay \
                     pending, and are tried again each --claim-after"
                );
            }
            return None;
        };
        if self.shared.options.once && times >= ONCE_TRIES {
            self.parked.leave(place);
        }
        Some(times)
    }
}
