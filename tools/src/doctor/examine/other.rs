//! Scripts that take from no stock: locks, units that are put back, and faults.

use std::collections::BTreeSet;

use anyhow::Result;

use super::Examination;
use crate::call::{Call, Role};
use crate::candidates;
use crate::harm::Judge;
use crate::history::Writer;
use crate::keyspace::Kind;
use crate::learn::Learned;

impl Examination<'_, '_, '_> {
    /// What breaks without a stock that a call takes from.
    pub(super) fn of_harm(&mut self, call: &Call, learned: &Learned) -> Result<bool> {
        let (bench, entry, text) = (&mut *self.bench, &self.entry, self.text);
        let mut judge = Judge { bench, entry, call, text };
        let mut session = None;
        if let Some(failed) = &learned.failed {
            session = judge.of_failure(failed)?;
        }
        for run in &learned.undone {
            if session.is_none() && self.source.is_of_stock() {
                session = judge.of_repeat(run)?;
            }
        }
        for run in &learned.added {
            if session.is_none() {
                session = judge.of_quota(run)?;
            }
        }
        self.said.sessions.extend(session);
        Ok(!self.said.sessions.is_empty())
    }

    /// A fault of the text in which every call ends, in every state that was tried.
    pub(super) fn of_fault(&mut self, call: &Call, learned: &Learned) -> Result<bool> {
        // Words of scripts for other programs.
        const ELSEWHERE: [&str; 3] = ["require", "ngx", "module"];
        let text = String::from_utf8_lossy(self.text);
        let is_for_another = ELSEWHERE.iter().any(|word| text.contains(word))
            || call.slots().next().is_none() && text.contains("print");
        if !learned.always_fails || is_for_another {
            return Ok(false);
        }
        let (bench, entry, text) = (&mut *self.bench, &self.entry, self.text);
        let session = Judge { bench, entry, call, text }.of_fault()?;
        self.said.sessions.extend(session);
        Ok(!self.said.sessions.is_empty())
    }

    pub(super) fn of_lock(&mut self, call: &mut Call, learned: &Learned) -> Result<bool> {
        let told = call.slots().any(|(_, word)| word.only_role() == Some(Role::Lock));
        if (told || self.source.is_of_locks()) && !call.args.is_empty() {
            let locks = learned.deleted.iter();
            for (key, kind) in locks.filter(|(_, kind)| matches!(kind, Kind::Text | Kind::Hash)) {
                let (bench, entry, text) = (&mut *self.bench, &self.entry, self.text);
                let is_sure = told || self.source.name.to_lowercase().contains("unlock");
                let session = Judge { bench, entry, call, text }.of_lock(key, *kind, is_sure)?;
                if let Some(session) = session {
                    self.said.sessions.push(session);
                    return Ok(true);
                }
            }
        }
        let mut tried: BTreeSet<String> = BTreeSet::new();
        for lock in &learned.locks {
            if !tried.insert(format!("{lock:?}")) || tried.len() > 6 {
                continue;
            }
            let mut call = call.clone();
            call.learn(lock.token.slot(), Role::Token);
            call.learn(lock.lease.as_ref().and_then(|(lease, _)| lease.slot()), Role::Lease);
            let write = |writer: &mut Writer<'_>| writer.of_lock(lock);
            let candidates = candidates::of_lock(lock);
            if self.compare(&call, &write, &candidates)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn of_return(&mut self, call: &mut Call, learned: &Learned) -> Result<bool> {
        let Some(returns) = &learned.returns else { return Ok(false) };
        call.learn(returns.units.ok(), Role::Units);
        let write = |writer: &mut Writer<'_>| writer.of_return(returns);
        self.compare(call, &write, &[candidates::of_return(returns)])
    }
}
