//! Looks whether a sale is whole whose keys came one by one.

use crate::error::CommandError;
use crate::keyspace::book_steps::Audited;
use crate::keyspace::sale::Sale;
use crate::server::Str;
use domain::audit::{AuditPart, Keys};
use domain::book::Entry;
use domain::whole::{Reading, check_parts};
use std::time::{Duration, Instant};

/// How long one command reads the book.
const STEP_TIME: Duration = Duration::from_micros(400);

impl Sale<'_> {
    /// The database and the rules key.
    pub(crate) fn rules_name(&self) -> Result<(i32, Str<'_>), CommandError> {
        Ok((self.ctx.selected_db(), self.managed_keys()?.rules))
    }

    /// Refuses a sale that is not known to have all its keys, after reading on in its book.
    pub(crate) fn check_whole(&self, reading: &mut Reading) -> Result<(), CommandError> {
        let checked = self.check_parts_and_read(reading);
        // Calls of the server follow, or decisions.
        self.close();
        checked
    }

    fn check_parts_and_read(&self, reading: &mut Reading) -> Result<(), CommandError> {
        if !check_parts(self)? {
            return Ok(());
        }
        self.close();
        let audited = Audited { ctx: self.ctx, keys: self.managed_keys()? };
        let begun = Instant::now();
        while let Some(position) = reading.position() {
            let (orders, next) = audited.scan(AuditPart::Book, position)?;
            // What can't be read says nothing of other keys; SECKILL.AUDIT names it.
            let entries = orders.iter().filter_map(|(_, text)| Entry::parse(text).ok());
            entries.for_each(|entry| reading.add(&entry));
            reading.went_on(next);
            if begun.elapsed() >= STEP_TIME {
                break;
            }
        }
        reading.check(self)?;
        if reading.position().is_some() { Err(CommandError::Arriving) } else { Ok(()) }
    }
}
