//! `seckill-worker settle`: a person decides about orders whose row and server contradict each
//! other, about payments of which nobody knows the order, and about a server that is another one.
//!
//! The server is asked at that moment. What is done there comes first, and is safe to repeat; then
//! the row is written.

mod adopt;
mod all;
mod on_server;
mod payment;
mod texts;

use anyhow::{Context, Result, bail, ensure};
use domain::book::{Reason, State};
use domain::judge::{Line, Money, NOT_REFUNDED, SHARED, is_deniable, is_given_back, money};
use domain::projection::{Book, LOST, project};
use seckill_tools::connection::{Connection, Target};
use seckill_tools::sanitize::sanitize;
use seckill_tools::voucher_keys::VoucherKeys;

use crate::batch::{Answer, Row, Sole, UNTOLD};
use crate::book::{self, Asker};
use crate::check::source_of;
use crate::marks::{Marks, Meaning};
use crate::options::Settle;
use crate::order_events::{Event, Which};
use crate::source::Source;
use crate::store::{Care, NEEDS_STATEMENTS, Settled, Store, told_of};
use on_server::Stock;
use texts::{confirmation, described, words};

/// What a person needs to settle something.
struct Settler<'s> {
    wanted: &'s Settle,
    store: Store,
    link: Connection,
}

pub async fn settle(wanted: &Settle) -> Result<()> {
    let store = Store::to_look_at(&wanted.site, wanted.shop.statements())?;
    if wanted.is_list() {
        let rows = store.disputed(wanted.voucher.as_deref()).await?;
        rows.iter().for_each(|row| println!("{}", described(row)));
        println!("{} rows are disputed", rows.len());
        store.close().await;
        return Ok(());
    }
    if wanted.adopt_server {
        return adopt::adopt(wanted, &store).await;
    }
    let target = Target::find(wanted.site.server.place()?).await?;
    let link = target.connect().await?;
    let mut settler = Settler { wanted, store, link };
    let settled = settler.run().await;
    settler.store.close().await;
    settled
}

impl Settler<'_> {
    async fn run(&mut self) -> Result<()> {
        if let Some(reference) = &self.wanted.payment {
            return payment::refund(self, reference).await;
        }
        if self.wanted.all {
            return all::settle(self).await;
        }
        let order = self.wanted.order.as_deref().unwrap_or_default();
        let row = self.one(order).await?;
        self.settle(&row).await
    }

    /// The row that the options name.
    async fn one(&self, order: &str) -> Result<Row> {
        let Settle { voucher, sale, .. } = self.wanted;
        let mut rows = self.store.rows_of(order).await?;
        rows.retain(|row| voucher.as_ref().is_none_or(|voucher| row.key.voucher == *voucher));
        rows.retain(|row| sale.as_ref().is_none_or(|sale| row.key.sale == *sale));
        let order = sanitize(order);
        match rows.len() {
            0 => bail!("no row of that voucher and sale has the order id {order}"),
            1 => Ok(rows.remove(0)),
            _ => {
                let name =
                    |row: &Row| format!("--voucher {} --sale {}", row.key.voucher, row.key.sale);
                let names: Vec<_> = rows.iter().map(name).collect();
                bail!(
                    "several rows have the order id {order}: name one by {}",
                    sanitize(&names.join(", or by "))
                )
            }
        }
    }

    /// The streams of a voucher, at the node that has its keys.
    async fn source(&mut self, voucher: &str) -> Result<Source> {
        let keys = VoucherKeys::of_module(&mut self.link, &[voucher.to_owned()]).await?;
        let keys = keys.first().context("no keys")?;
        source_of(&self.wanted.site, keys).await
    }

    /// Nothing is settled by another server. Returns the mark.
    async fn marks(&self, source: &mut Source) -> Result<String> {
        let marks = Marks::read(source, &self.store).await?;
        let stream = source.name(Which::Orders).to_owned();
        let server = self.wanted.site.server.without_password();
        match marks.meaning() {
            Meaning::Same(mark) | Meaning::Restored(mark) => Ok(mark.text()),
            Meaning::OtherServer => {
                let why = marks.why(&stream, self.store.database());
                bail!("nothing was settled: {server}: {why}")
            }
            Meaning::None | Meaning::RowsLost(_) => bail!(
                "nothing was settled: {server}: no worker has read {stream} into this database"
            ),
        }
    }

    /// Settles one row.
    async fn settle(&mut self, row: &Row) -> Result<()> {
        ensure!(
            row.key.is_managed(),
            "an unmanaged voucher has no book: there is nothing to settle"
        );
        let mut source = self.source(&row.key.voucher).await?;
        self.marks(&mut source).await?;
        let were_run = self.store.ran_statements(&[&row.key.voucher]).await?;
        let has_statements = self.wanted.shop.statements().is_some() || !were_run;
        ensure!(self.wanted.keep || has_statements, NEEDS_STATEMENTS);
        // A dispute that has healed ends, and a row that is behind follows.
        let row = match has_statements {
            true => self.look(&mut source, row).await?,
            false => row.clone(),
        };
        if let Some(units) = self.wanted.paid {
            return payment::tell(self, &row, units).await;
        }
        let answer = self.ask(&mut source, &row).await?;
        println!("{}", described(&row));
        println!("the server says now: {}", sanitize(&words(&answer)));
        let lines = self.store.money_of(&row.key).await?;
        let lines = told_of(&lines);
        let money = money(&row.known, &lines);
        let denied = self.wanted.not_refunded && is_deniable(&row.known, &lines);
        if denied && !row.is_disputed() && self.wanted.keep == row.known.state.is_live() {
            self.write(&row, row.clone(), Some(NOT_REFUNDED)).await?;
            println!("order {}: its payment was not refunded as a whole", sanitize(&row.key.order));
            return Ok(());
        }
        let other = self.store.shared_with(&row).await?;
        if let Some(other) = &other
            && !row.is_disputed()
            && (self.wanted.keep || !row.known.state.is_live())
        {
            return payment::share(self, &row, other).await;
        }
        let is_lost_hold = row.known.state == State::Held && !matches!(answer, Answer::Has(_));
        let is_kept = row.is_settled && row.disputed != LOST;
        if !row.is_disputed()
            && !is_lost_hold
            && !is_kept
            && other.is_none()
            && money != Money::GoodsAndMoney
        {
            bail!(
                "nothing was settled: order {} is {}, and the server does not contradict it",
                sanitize(&row.key.order),
                row.known.state.word()
            );
        }
        match self.wanted.keep {
            true => self.keep(&mut source, row, &answer, &lines).await,
            false => {
                let denied = denied.then_some(NOT_REFUNDED);
                self.release(&mut source, row, &answer, other.map_or(denied, |_| Some(SHARED)))
                    .await
            }
        }
    }

    /// Has the row follow the server where that does not contradict it.
    async fn look(&self, source: &mut Source, row: &Row) -> Result<Row> {
        let event = Event::look(row.key.clone(), row.user.clone());
        let mut asker = Asker::of_rows(source);
        let looked = self.store.apply(&[(event, Sole::No)], Care::Full, &mut asker).await;
        looked?;
        let rows = self.store.rows_of(&row.key.order).await?;
        rows.into_iter().find(|its| its.key == row.key).context("the row is gone")
    }

    /// Writes a line of the refunds for the server's payment of an order whose row has another one.
    async fn refund_other(&self, source: &mut Source, row: &Row, answer: &Answer) -> Result<()> {
        let Answer::Has(fact) = answer else { return Ok(()) };
        let (Some(other), Some(its)) = (&fact.known.reference, &row.known.reference) else {
            return Ok(());
        };
        if fact.user != row.user || other == its {
            return Ok(());
        }
        payment::write(self, source, "second", row.key.clone(), row.user.clone(), other).await?;
        let claimed = self.store.claimed(&row.key.voucher, other).await?;
        match claimed {
            Some(_) => println!("payment {} is another order's: check", sanitize(other)),
            None => {
                println!("refund payment {}, of which the row has another one", sanitize(other))
            }
        }
        Ok(())
    }

    async fn ask(&self, source: &mut Source, row: &Row) -> Result<Answer> {
        let mut answers = book::ask(source, [&row.key].into_iter()).await?;
        match answers.remove(&row.key) {
            Some(Answer::Unreadable(why)) => bail!("{why}"),
            Some(answer) => Ok(answer),
            None => Ok(Answer::Without(Book::Over)),
        }
    }

    /// The customer has the order: its units are taken off the sale once.
    async fn keep(
        &mut self,
        source: &mut Source,
        row: Row,
        answer: &Answer,
        lines: &[Line<'_>],
    ) -> Result<()> {
        let reference = row.known.reference.as_deref();
        let refunds = reference.is_some_and(|reference| is_given_back(reference, lines));
        ensure!(
            !refunds || self.wanted.not_refunded,
            "nothing was settled: a line of the refunds gives the payment of {} back; if it was \
             not refunded, and will not be: --not-refunded",
            sanitize(&row.key.order)
        );
        let (kept, on_server) = kept(&row, answer, lines)?;
        let units = kept.known.units - on_server;
        if units < 0 {
            // It has more of the order than the row, which was released before.
            on_server::cancel(source, &row, "KEEP", &kept.known.units.to_string()).await?;
        }
        let is_on = !matches!(answer, Answer::Without(Book::Over | Book::Older));
        let stock = match units > 0 && is_on {
            true => on_server::take(source, &kept.key, units).await?,
            false => Stock::Untouched,
        };
        let record = if refunds { Some(NOT_REFUNDED) } else { None };
        self.refund_other(source, &row, answer).await?;
        self.write(&row, kept.clone(), record).await?;
        let [order, voucher, sale] =
            [&kept.key.order, &row.key.voucher, &row.key.sale].map(|text| sanitize(text));
        println!("order {order} is kept, {}", kept.known.state.word());
        match stock {
            Stock::Untouched => {}
            Stock::Moved(left) => println!(
                "took its {units} units off the sale: SECKILL.RESTOCK {voucher} -{units} FOR \
                 {order} SALE {sale}; {left} are left"
            ),
            Stock::Short => println!(
                "OVERSOLD by {units}: its units were on sale again and are sold. When units are \
                 left, take them off: seckill-worker settle {order} --voucher {voucher} --sale \
                 {sale} --keep. Or settle an order with --release, and refund it"
            ),
        }
        Ok(())
    }

    /// The customer does not have the order: it is cancelled on both sides.
    async fn release(
        &mut self,
        source: &mut Source,
        row: Row,
        answer: &Answer,
        also: Option<&str>,
    ) -> Result<()> {
        if let Answer::Has(fact) = answer
            && fact.user == row.user
            && fact.known.state.is_live()
        {
            on_server::cancel(source, &row, "IF", fact.known.state.word()).await?;
        }
        on_server::undo(source, &row.key).await?;
        let now = self.ask(source, &row).await?;
        let mut released = row.clone();
        if row.known.state.is_live() {
            released.known.state = State::Released(Reason::Cancelled);
            // Paid on the server, which the row has not seen: that payment is refunded whole.
            if let Answer::Has(fact) = &now
                && fact.user == row.user
                && row.known.reference.is_none()
                && fact.known.reference.is_some()
                && !fact.known.state.is_live()
            {
                released.known = fact.known.clone();
            }
        }
        if matches!(&now, Answer::Has(fact) if fact.user != row.user) {
            released.key.order = format!("{} of {}", row.key.order, row.user);
        }
        let book = match &now {
            Answer::Has(fact) if fact.user == row.user => Some(Book::Has(fact.known.clone())),
            Answer::Without(book) => Some(book.clone()),
            Answer::Waits(_) => Some(Book::Lacks),
            _ => None,
        };
        let agrees = book.is_some_and(|book| project(Some(&released.known), None, &book).is_ok());
        released.is_settled = !agrees;
        released.disputed = if agrees { String::new() } else { words(&now) };
        self.refund_other(source, &row, answer).await?;
        let was_refunded = self.write(&row, released.clone(), also).await?;
        let units = if row.known.state.is_live() { released.known.units } else { 0 };
        let reference = released.known.reference.as_deref().filter(|_| units > 0).map(sanitize);
        let refund = match reference {
            Some(reference) if also == Some(SHARED) => {
                format!("; payment {reference} is another order's: nothing is refunded")
            }
            Some(reference) if was_refunded => {
                format!("; a line of the refunds gives payment {reference} back already")
            }
            Some(reference) => format!("; refund payment {reference} of {units} units"),
            None => String::new(),
        };
        println!("order {} is released{refund}", sanitize(&released.key.order));
        Ok(())
    }

    /// Returns whether the order's payment was refunded already.
    async fn write(&self, before: &Row, after: Row, also: Option<&str>) -> Result<bool> {
        match self.store.settle(before, after, also).await? {
            Settled::Written { was_refunded } => Ok(was_refunded),
            Settled::Changed => bail!("the row has changed meanwhile: look again"),
        }
    }
}

/// The row of an order that its customer keeps, and how many of its units the server has.
fn kept(row: &Row, answer: &Answer, lines: &[Line<'_>]) -> Result<(Row, i64)> {
    let mut kept = Row { is_settled: true, ..row.clone() };
    let on_server = match answer {
        Answer::Has(fact) if fact.user == row.user => {
            if fact.known.state == State::Held && row.known.state == State::Sold {
                bail!(
                    "nothing was settled: the server holds the order until its deadline: \
                     repeat its confirmation, {}",
                    sanitize(&confirmation(row))
                );
            }
            if !row.known.state.is_live() {
                kept.known = fact.known.clone();
                // What a line has refunded, the customer doesn't have.
                if lines.iter().any(|line| line.to == "reduced") {
                    kept.known.units = fact.known.units.min(row.known.units);
                }
                // Units may have been released since it was paid.
                if fact.known.reference.is_some() && row.known.units.max(fact.known.units) > 1 {
                    kept.confirmed_id = UNTOLD.to_owned();
                }
            }
            if fact.known.state.is_live() { fact.known.units } else { 0 }
        }
        _ => 0,
    };
    ensure!(
        kept.known.state.is_live(),
        "nothing was settled: the order is over in the rows and on the server"
    );
    let is_its = matches!(answer, Answer::Has(fact) if fact.user == row.user);
    ensure!(
        is_its || kept.known.state != State::Held,
        "nothing was settled: the server does not hold the order, so nobody can pay it any \
         more: --release, and the customer can buy again"
    );
    let is_other = matches!(answer, Answer::Has(fact) if fact.user != row.user);
    kept.disputed = if is_other { Book::Lacks.words() } else { words(answer) };
    if is_other {
        // The id is another user's order: the key of this row has its user from now on.
        kept.key.order = format!("{} of {}", row.key.order, row.user);
    }
    Ok((kept, on_server))
}
