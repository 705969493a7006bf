//! `seckill-worker check`: compares the orders of a voucher, or of all shards of a sale, with the
//! rows and with what is on record of payments, says which differ and what could not be looked at,
//! and writes what is missing if asked to. It deletes nothing, and releases nothing that was sold.
//!
//! `facts` and `undone` read the server, `books` puts the books together for the judge in `domain`,
//! `report` says what it found, `repair` writes the missing rows.

mod books;
mod facts;
mod references;
mod repair;
mod report;
mod undone;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use domain::entry_id::EntryId;
use domain::judge::{Judgement, Verdict};
use domain::payments::Outcome;
use redis::cmd;
use seckill_tools::connection::{Connection, Target};
use seckill_tools::nodes::Nodes;
use seckill_tools::sanitize::sanitize;
use seckill_tools::sharding::{journal_key, parse_opening, shard_voucher};
use seckill_tools::voucher_keys::VoucherKeys;

use crate::marks::{Marks, Meaning};
use crate::options::{Check, OrderFields, Site};
use crate::order_events::Which;
use crate::settings;
use crate::source::Source;
use crate::store::{NEEDS_STATEMENTS, Store};
use books::Books;
pub use books::digest;
use facts::Sold;
pub use facts::{Paid, payments};
use report::Report;
use undone::{Undone, undone};

/// The time between two looks, in which workers write what they have read: only what both looks
/// find is reported.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Everything that is compared.
struct Checker<'c> {
    link: Connection,
    store: Store,
    keys: Vec<VoucherKeys>,
    fields: Vec<OrderFields>,
    wanted: &'c Check,
}

pub async fn check(wanted: &Check) -> Result<Verdict> {
    let site = &wanted.site;
    let place = site.server.place()?;
    let mut connection = Nodes::new(place.clone()).connect(&wanted.voucher).await?;
    let settings = settings::compare(&mut connection, site, &wanted.fields, None).await;
    let fields = settings.map_err(|halt| halt.told(site))?.fields;
    let store = Store::to_look_at(site, wanted.shop.statements())?;
    let target = Target::find(place).await?;
    let mut link = target.connect().await?;
    let vouchers = vouchers_of(&mut link, &wanted.voucher).await?;
    let keys = VoucherKeys::of_module(&mut link, &vouchers).await?;
    let mut checker = Checker { link, store, keys, fields, wanted };
    let (mut books, mut found) = checker.look_twice().await?;
    if wanted.repair && found.verdict().code() != 0 {
        checker.repair(&books, &found).await?;
        (books, found) = checker.look_twice().await?;
    }
    let report = Report { references: checker.references(&books)?, judgement: found };
    if wanted.close && report.verdict() == Verdict::Proved {
        checker.close(&books).await?;
    }
    let database = checker.store.database();
    checker.store.close().await;
    match wanted.json {
        true => println!("{}", report.json()),
        false => print!("{}", report.text(database)),
    }
    Ok(report.verdict())
}

/// The voucher, or the vouchers of the sale's shards.
async fn vouchers_of(link: &mut Connection, voucher: &str) -> Result<Vec<String>> {
    let first = journal_key(voucher, 0);
    let told: Option<String> = cmd("HGET").arg(first).arg("sale").query_async(link).await?;
    Ok(match told.as_deref().and_then(parse_opening) {
        Some((shards, _)) => (0..shards).map(|shard| shard_voucher(voucher, shard)).collect(),
        None => vec![voucher.to_owned()],
    })
}

impl Checker<'_> {
    /// What two looks find; one look if the first finds nothing.
    async fn look_twice(&mut self) -> Result<(Books, Judgement)> {
        let books = self.look().await?;
        let first = books.judge(None);
        if first.verdict().code() == 0 {
            return Ok((books, first));
        }
        tokio::time::sleep(SECOND_LOOK).await;
        let before = (first, books.undone);
        let books = self.look().await?;
        let found = books.judge(Some(&before));
        Ok((books, found))
    }

    async fn look(&mut self) -> Result<Books> {
        let is_one = self.keys.len() == 1;
        ensure!(is_one || self.wanted.stock.is_none(), "--stock is for a voucher without shards");
        let mut books = Books {
            stock: self.wanted.stock,
            sale: self.wanted.sale.clone(),
            with_statements: self.wanted.shop.statements().is_some(),
            ..Books::default()
        };
        for number in 0..self.keys.len() {
            let keys = self.keys[number].clone();
            let began = self.look_at_streams(number, &mut books).await?;
            if let Some(mut sold) = Sold::read(&mut self.link, &keys, &self.fields).await? {
                if began != EntryId::default() {
                    sold.read_entries(&mut self.link, &keys, &self.fields).await?;
                }
                books.sold.push(sold);
            }
            books.payments.extend(facts::payments(&mut self.link, &keys).await?);
        }
        let unknown = books.payments.iter().filter(|paid| paid.outcome == Outcome::Unknown);
        let unknown: Vec<&str> = unknown.map(|paid| &*paid.reference).collect();
        books.uses = self.store.uses(&unknown).await?;
        books.ledger = self.store.ledger(&self.vouchers()).await?;
        let is_known = !books.sold.is_empty()
            || !books.ledger.rows.is_empty()
            || !books.payments.is_empty()
            || books.undone.values().any(|undone| !undone.is_empty());
        ensure!(is_known, "NOVOUCHER neither the server nor the rows have this voucher");
        Ok(books)
    }

    /// Compares the marks, and lists the entries of a voucher that are not done. Returns the last
    /// entry of an order that the group had read before the rows began.
    async fn look_at_streams(&mut self, number: usize, books: &mut Books) -> Result<EntryId> {
        if self.keys[number].stream.is_none() {
            return Ok(EntryId::default());
        }
        let voucher = self.keys[number].voucher.clone();
        let mut source = self.source(number).await?;
        let marks = Marks::read(&mut source, &self.store).await?;
        let (stream, group) = (source.name(Which::Orders).to_owned(), &self.wanted.site.group);
        let began = match marks.meaning() {
            Meaning::Same(mark) | Meaning::Restored(mark) => mark.position(Which::Orders),
            Meaning::None => {
                books.marks.insert(format!(
                    "no worker of group {group} has read {stream} into these rows yet: start it"
                ));
                EntryId::default()
            }
            Meaning::RowsLost(mark) => {
                books.marks.insert(format!(
                    "group {group} has read {stream} into other rows: this database was lost, or \
                     is another one; start the worker here, then check --repair"
                ));
                mark.position(Which::Orders)
            }
            Meaning::OtherServer => {
                let server = self.wanted.site.server.without_password();
                let why = marks.why(&stream, self.store.database());
                books.marks.insert(format!("{server}: {why}"));
                EntryId::default()
            }
        };
        let undone: Undone = undone(&mut source, &self.fields, &voucher).await?;
        books.undone.insert(voucher.clone(), undone);
        books.began.insert(voucher, began);
        Ok(began)
    }

    fn vouchers(&self) -> Vec<&str> {
        self.keys.iter().map(|keys| keys.voucher.as_str()).collect()
    }

    /// The references that differ from the provider's, if there is a list of these.
    fn references(&self, books: &Books) -> Result<Option<Vec<references::Reference>>> {
        let Some(path) = &self.wanted.refs else { return Ok(None) };
        let lines = books.ledger.lines.iter().filter(|line| !line.reference.is_empty());
        let mut ours: BTreeMap<String, String> =
            lines.map(|line| (line.reference.clone(), line.order.clone())).collect();
        for row in &books.ledger.rows {
            let reference = row.known.reference.clone();
            ours.extend(reference.map(|reference| (reference, row.key.order.clone())));
        }
        let (theirs, mut found) = references::read(path)?;
        found.extend(references::compare(&theirs, &ours));
        Ok(Some(found))
    }

    async fn repair(&mut self, books: &Books, found: &Judgement) -> Result<()> {
        if let Some(text) = books.marks.first() {
            bail!("--repair writes nothing: {text}");
        }
        let has_statements = self.wanted.shop.statements().is_some();
        let were_run = self.store.ran_statements(&self.vouchers()).await?;
        ensure!(has_statements || !were_run, NEEDS_STATEMENTS);
        let mut written = 0;
        for number in 0..self.keys.len() {
            let mut source = self.source(number).await?;
            let (keys, store) = (&self.keys[number], &self.store);
            let mut repair = repair::Repair {
                link: &mut self.link,
                source: &mut source,
                store,
                keys,
                names: &self.fields,
                with_acknowledged: self.wanted.repair_acknowledged,
            };
            let (lines, orders) = repair.run(books, found).await?;
            lines.iter().for_each(|line| println!("{line}"));
            written += orders;
        }
        println!("wrote {written} orders");
        Ok(())
    }

    /// Keeps what the rows are of sales that are over and proved.
    async fn close(&self, books: &Books) -> Result<()> {
        for sold in &books.sold {
            let [voucher, sale] = [&sold.voucher, &sold.sale].map(|text| sanitize(text));
            if !sold.is_over {
                println!(
                    "sale {sale} of voucher {voucher} stays open: it has not ended, or orders are \
                     held or wait in line"
                );
                continue;
            }
            let closed = books.closing(&sold.voucher, &sold.sale);
            self.store.close_sale(&closed).await?;
            println!(
                "closed sale {sale} of voucher {voucher}: {} orders, {} units",
                closed.orders, closed.units
            );
        }
        Ok(())
    }

    /// The streams of a voucher, at the node that has its keys.
    async fn source(&self, number: usize) -> Result<Source> {
        source_of(&self.wanted.site, &self.keys[number]).await
    }
}

/// The streams of a voucher, at the node that has its keys.
pub async fn source_of(site: &Site, keys: &VoucherKeys) -> Result<Source> {
    let orders = keys.stream.as_deref().unwrap_or_default();
    let rest = orders.strip_prefix(site.stream.as_str());
    let tag = rest.and_then(|rest| rest.strip_prefix(":{")?.strip_suffix('}'));
    let streams = site.streams_of(tag);
    let mut nodes = Nodes::new(site.server.place()?);
    let connection = nodes.connect(&keys.book).await.context("the streams")?;
    Ok(Source::new(connection, streams, &site.group, ""))
}
