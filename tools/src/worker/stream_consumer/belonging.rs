//! Is this the server whose rows these are? Nothing is read from another one.

use tracing::{error, warn};

use super::{CONNECT_MAX, StreamConsumer};
use crate::halt::{Halt, Stopped, rest};
use crate::marks::Meaning;
use crate::source::Source;
use crate::stream_entry::Which;
use crate::totals::Part;

impl StreamConsumer {
    /// Reads nothing from a server that is not the one of the rows.
    pub(super) async fn agree(&mut self, source: &mut Source) -> Result<(), Halt> {
        if !self.options.fields.unchecked
            && let Some(text) = source.looks_wrong().await?
        {
            return Err(Halt::Foreign(text));
        }
        let (marks, meaning) = self.committer.agree(source).await?;
        let (orders, database) = (&self.streams.orders, self.committer.database());
        match meaning {
            Meaning::Same(_) => {}
            Meaning::None => self.warn_of_pending(source).await?,
            Meaning::RowsLost(_) => warn!(
                "{orders} was written to other rows before: the {database} database was lost, or \
                 is another one. What the group has acknowledged is not read again: \
                 seckill-worker check --repair"
            ),
            Meaning::Restored(_) => warn!(
                "{orders} has no mark of its rows, and the server has a sale of them: it was \
                 restored to what it was before its first worker; it has the mark from now on. \
                 Compare: seckill-worker check"
            ),
            Meaning::OtherServer => {
                let server = self.options.site.server.without_password();
                return Err(Halt::Foreign(marks.why(&server, orders, database)));
            }
        }
        self.totals.tell(Part::Foreign(orders.clone()), None);
        Ok(())
    }

    /// Entries that another consumer has read and not acknowledged may be stored already.
    async fn warn_of_pending(&self, source: &mut Source) -> Result<(), Halt> {
        if self.options.shop.statements().is_none() || !source.is_there(Which::Orders).await? {
            return Ok(());
        }
        let pending = source.standing(Which::Orders).await?.pending;
        if pending > 0 {
            let orders = source.name(Which::Orders);
            warn!(
                "{pending} entries of {orders} are pending for another consumer: if it has stored \
                 them and nothing makes the order id unique in the shop's tables, --statements \
                 write them a second time"
            );
        }
        Ok(())
    }

    /// Tells it once, and waits for a person.
    pub(super) async fn foreign(&mut self, text: &str) -> Result<(), Stopped> {
        let orders = self.streams.orders.clone();
        if self.foreign != text {
            error!("{text}");
            text.clone_into(&mut self.foreign);
        }
        self.totals.intake(&orders, false);
        self.totals.tell(Part::Foreign(orders), Some(text));
        rest(&mut self.stop, CONNECT_MAX).await
    }
}
