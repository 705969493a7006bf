//! What a look reads of the server: what belongs to the streams of a hash tag once, and then the
//! books of each of their vouchers.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::Result;
use domain::entry_id::EntryId;
use seckill_tools::voucher_keys::VoucherKeys;

use super::Checker;
use super::books::Books;
use super::look::Look;
use super::undone::{Progress, of_voucher, undone};
use crate::order_events::{Event, Which};
use crate::pairing::{Pairing, began, why_unpaired};
use crate::source::Source;

impl Checker<'_> {
    /// What is not done comes before the books, and the database after all: what was done by then
    /// is in the database. An entry that is appended in between differs, but only in this look.
    /// Streams that are not paired with the tables are not looked at.
    pub(super) async fn look_at_streams(
        &mut self,
        mut source: Source,
        vouchers: &[VoucherKeys],
        look: &mut Look,
    ) -> Result<()> {
        let Some(began) = self.began(&mut source, look).await? else { return Ok(()) };
        let undone = match self.undone.remove(source.name(Which::Orders)) {
            Some(undone) => undone,
            None => undone(&mut source, &self.settings.fields).await?,
        };
        let stream = source.stream(Which::Orders).await?.unwrap_or_default();
        let mut progress = Progress { began, last: stream.last, ..Progress::default() };
        if began != EntryId::default() {
            let events = self.events(&mut source, Which::Orders, began).await?;
            progress.after = events.into_iter().map(|it| (it.key.voucher, it.key.order)).collect();
        }
        let progress = Rc::new(progress);
        let mut all = Vec::new();
        for keys in vouchers {
            let mut lost = look.lost_shards.iter().filter(|lost| lost.has_remains);
            all.push(match lost.find(|lost| lost.voucher() == keys.voucher) {
                // It is asked about as a whole: what it still says is no truth to compare with.
                Some(_) => Books::of_none(&keys.voucher),
                None => Books::read(&mut self.link, keys).await?,
            });
        }
        if all.iter().any(Books::is_unmanaged) {
            let mut events = self.unmanaged_events(&mut source).await?;
            for books in all.iter_mut().filter(|books| books.is_unmanaged()) {
                books.events = events.remove(&books.voucher).unwrap_or_default();
            }
        }
        for books in all {
            look.undone.insert(books.voucher.clone(), of_voucher(&undone, &books.voucher));
            look.progress.insert(books.voucher.clone(), progress.clone());
            look.books.push(books);
        }
        Ok(())
    }

    /// The last entry that the group had read before the tables began; None, and a note why, where
    /// server and tables are not paired.
    async fn began(&self, source: &mut Source, look: &mut Look) -> Result<Option<EntryId>> {
        let stream = source.name(Which::Orders).to_owned();
        let unpaired = match Pairing::read(source, self.store).await? {
            Pairing::Same(group) => return Ok(Some(began(&group.pairing_id))),
            Pairing::New | Pairing::Begun(_) => format!(
                "no worker of group {} has read {stream} into this database yet: start it",
                source.group()
            ),
            Pairing::TablesLost { .. } => format!(
                "{stream} was read into other tables: this database was lost, or is another one; \
                 start the worker here, then check --repair"
            ),
            Pairing::OtherServer => why_unpaired(source, self.site, self.store.database()),
        };
        look.unpaired.insert(unpaired);
        Ok(None)
    }

    /// The orders of unmanaged vouchers that streams still have, by voucher.
    async fn unmanaged_events(&self, source: &mut Source) -> Result<BTreeMap<String, Vec<Event>>> {
        let mut all: BTreeMap<String, Vec<Event>> = BTreeMap::new();
        // Nothing of them is confirmed.
        for which in [Which::Orders, Which::Released] {
            let events = self.events(source, which, EntryId::default()).await?;
            for event in events.into_iter().filter(|event| !event.key.is_managed()) {
                all.entry(event.key.voucher.clone()).or_default().push(event);
            }
        }
        Ok(all)
    }

    /// The entries of a stream after one. What can't be read is a dead letter.
    async fn events(&self, source: &mut Source, which: Which, last: EntryId) -> Result<Vec<Event>> {
        let (mut events, fields) = (Vec::new(), &self.settings.fields);
        let add = |entry| events.extend(Event::parse(which, &entry, fields).ok());
        source.each_after(which, last, add).await?;
        Ok(events)
    }
}
