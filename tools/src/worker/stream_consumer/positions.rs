//! How far the group has read, kept in the worker's tables: a worker that starts later sees what is
//! missing after that.

use seckill_tools::sanitize::sanitize;
use tracing::debug;

use super::StreamConsumer;
use crate::ending::{Cause, End};
use crate::halt::Halt;
use crate::source::Source;
use crate::source::gap::Gap;
use crate::stream_entry::Which;

impl StreamConsumer {
    /// Joins the groups, and makes those that are missing.
    pub(super) async fn join(&mut self, source: &mut Source) -> Result<(), Halt> {
        self.load_positions(source).await;
        let gaps = source.gaps_of_missing_groups(&mut self.seen).await?;
        self.missing(source, gaps).await?;
        let gaps = source.make_groups(&mut self.seen).await?;
        self.missing(source, gaps).await
    }

    /// Entries are missing that nobody has read.
    pub(super) async fn missing(
        &mut self,
        source: &mut Source,
        gaps: Vec<(Which, Gap)>,
    ) -> Result<(), Halt> {
        let lost = |(which, gap): (Which, Gap)| ((which, gap.after), End::Lost(Cause::Gap(gap)));
        self.ended(source, &gaps.into_iter().map(lost).collect::<Vec<_>>()).await
    }

    /// Where the group was in the streams, as far as no read has shown it yet.
    async fn load_positions(&mut self, source: &Source) {
        for which in source.all() {
            if self.seen.contains_key(&which) {
                continue;
            }
            let store = self.committer.store();
            match store.position(source.name(which), &self.options.site.group).await {
                Ok(found) => self.seen.extend(found.map(|found| (which, found))),
                Err(fault) => debug!("no position is known: {}", sanitize(&fault.text())),
            }
        }
    }

    /// Says where the group is: a worker that starts later sees what is missing after that.
    pub(super) async fn save_positions(&mut self, source: &Source) {
        for (which, passed) in &self.seen {
            if self.saved.get(which) == Some(passed) {
                continue;
            }
            let store = self.committer.store();
            let name = source.name(*which);
            match store.save_position(name, &self.options.site.group, passed).await {
                Ok(()) => _ = self.saved.insert(*which, *passed),
                Err(fault) => debug!("no position is recorded: {}", sanitize(&fault.text())),
            }
        }
    }
}
