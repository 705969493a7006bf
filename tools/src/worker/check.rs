//! `seckill-worker check`: compares what a server and the database have of a voucher, of all shards
//! of a sale, or of all vouchers, and asks about each difference. With --repair it also writes what
//! needs no operator; nothing is deleted, and nothing that was sold is released.
//!
//! `vouchers` says what, `streams` read the server, each with what is `undone` and the `books` of
//! its vouchers, `look` compares, with `ask`, `unmanaged`, `shards` (each a `lost_shard`) and, for
//! the provider's list of `references`, `listed`; `questions` is what is found, `report` says it,
//! with its `results`.

mod ask;
mod books;
mod listed;
mod look;
mod lost_shard;
mod questions;
mod references;
mod report;
mod results;
mod shards;
mod streams;
mod undone;
mod unmanaged;
mod vouchers;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, IsTerminal, Write, stdin, stdout};
use std::mem::discriminant;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use seckill_tools::connection::{Connection, Target};
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::with_causes;
use seckill_tools::voucher_keys::VoucherKeys;
use tracing::{info, warn};

use crate::accounts::Accounts;
use crate::halt::Halt;
use crate::options::{
    Check, Command, FieldOptions, Options, Resolve, ShopOptions, Site, tag_of_stream,
};
use crate::order_events::{OrderKey, Which};
use crate::settings::{self, Settings, ensure_events};
use crate::source::Source;
use crate::store::Store;
pub use books::{BookOrder, Books, read_paid};
use look::{Given, Look};
pub use lost_shard::shards_of_sale;
use questions::{About, Findings, Incomplete, Question, QuestionKind};
pub use questions::{lose, ruled, said_by_row, said_by_server};
use references::List;
pub use report::Verdict;
use report::{Report, command_of};
use undone::UndoneByVoucher;

/// The time between two looks, in which workers write what they have read: only what two looks
/// find is asked.
const SECOND_LOOK: Duration = Duration::from_secs(1);
/// So many orders are repaired in one transaction.
const REPAIR_PIECE: usize = 500;
/// Who rules, in the table of rulings.
const RULED_BY: &str = "check";

/// How `--ask` does what is answered.
pub trait Answering: AsyncFn(&Resolve) -> Result<()> {}
impl<F: AsyncFn(&Resolve) -> Result<()>> Answering for F {}

/// Everything that is compared.
struct Checker<'c> {
    link: Connection,
    store: &'c Store,
    site: &'c Site,
    shop: &'c ShopOptions,
    keys: Vec<VoucherKeys>,
    /// Sales that may be over shards.
    sales: BTreeSet<String>,
    settings: Settings,
    given: Given,
    /// By stream: what was not done when the vouchers were looked for, for the look after that.
    undone: BTreeMap<String, UndoneByVoucher>,
}

/// `answer` does what is answered to a question.
pub async fn check(wanted: &Check, answer: impl Answering) -> Result<Verdict> {
    let is_seen = !wanted.ask || stdin().is_terminal();
    ensure!(is_seen, "--ask needs a terminal; resolve answers one question");
    let store = Store::to_look_at(&wanted.site, wanted.shop.statements())?;
    let list = wanted.refs.as_deref().map(List::read).transpose()?;
    let verdict = check_with(wanted, &store, list, answer).await;
    store.close().await;
    verdict
}

async fn check_with(
    wanted: &Check,
    store: &Store,
    list: Option<List>,
    answer: impl Answering,
) -> Result<Verdict> {
    let (site, shop) = (&wanted.site, &wanted.shop);
    let mut checker = Checker::open(site, shop, &wanted.fields, store).await?;
    let vouchers = match &wanted.voucher {
        Some(voucher) => checker.vouchers_of(voucher).await?,
        None => {
            let sources = checker.sources().await?;
            checker.all_vouchers(sources).await?
        }
    };
    checker.see_sales(wanted.voucher.as_deref(), &vouchers);
    let is_one = vouchers.len() == 1;
    ensure!(is_one || wanted.stock.is_none(), "--stock is for a voucher without shards");
    checker.keys = VoucherKeys::of_module(&mut checker.link, &vouchers).await?;
    // Of a named stream: of other vouchers it tells nothing.
    if site.is_tagged() && !wanted.fields.unchecked {
        checker.keys.retain(|keys| keys.stream.as_ref() == Some(&site.stream));
        ensure!(!checker.keys.is_empty(), "none of these vouchers is in --stream {}", site.stream);
    }
    let list_prefix = wanted.refs_prefix.clone();
    checker.given = Given { stock: wanted.stock, list, list_prefix };
    let (look, mut found) = checker.look_twice().await?;
    let is_known = look.books.iter().any(Books::is_known)
        || look.ledger.accounts.orders().next().is_some()
        || look.undone.values().any(|it| it.entries > 0)
        || !look.unpaired.is_empty();
    ensure!(
        is_known || wanted.voucher.is_none(),
        "NOVOUCHER neither the server nor the database has this voucher"
    );
    // The program ends soon: to free an order takes nearly as long as to compare it.
    std::mem::forget(look);
    if (wanted.repair || wanted.ask) && !found.by_itself.is_empty() {
        let written = checker.repair(&found).await?;
        println!("wrote {written} orders");
        (_, found) = checker.look_twice().await?;
    }
    if wanted.ask {
        found = checker.ask(found, answer).await?;
    }
    checker.close_sales(&found).await;
    let report = Report::new(found, site, shop.statements(), store.database());
    match wanted.json {
        true => println!("{}", report.json()),
        false => print!("{}", report.text()),
    }
    Ok(report.verdict())
}

/// The check of a worker whose server may have lost something: it looks at all vouchers of its
/// streams, and writes what needs no operator. True if nothing is left to ask.
pub async fn by_itself(
    options: &Options,
    store: &Store,
    source: &mut Source,
) -> Result<bool, Halt> {
    match look_by_itself(options, store, source).await {
        Ok(is_over) => Ok(is_over),
        Err(error) => {
            warn!("{} is not checked: {}", source.name(Which::Orders), with_causes(&error));
            Ok(false)
        }
    }
}

async fn look_by_itself(options: &Options, store: &Store, source: &mut Source) -> Result<bool> {
    let (site, shop) = (&options.site, &options.shop);
    let mut checker = Checker::open(site, shop, &options.fields, store).await?;
    let mut vouchers = checker.all_vouchers(vec![source.clone()]).await?;
    vouchers.retain(|voucher| source.has_stream_of(voucher));
    checker.see_sales(None, &vouchers);
    checker.keys = VoucherKeys::of_module(&mut checker.link, &vouchers).await?;
    let (_, mut found) = checker.look_twice().await?;
    if !found.by_itself.is_empty() {
        let written = checker.repair(&found).await?;
        info!("{}: wrote {written} orders that entries did not tell", source.name(Which::Orders));
        (_, found) = checker.look_twice().await?;
    }
    checker.close_sales(&found).await;
    // Of a sale that is gone nothing can be asked any more.
    let is_whole = found.incomplete.iter().all(|it| matches!(it, Incomplete::Dropped { .. }));
    // Nor is a payment a difference that waits for its order on both sides.
    let differs =
        found.questions.keys().filter(|about| about.kind != QuestionKind::Unmatched).count();
    if differs > 0 {
        warn!(
            "{}: {differs} differences between server and database: seckill-worker check",
            source.name(Which::Orders)
        );
    }
    Ok(differs == 0 && is_whole)
}

impl<'c> Checker<'c> {
    async fn open(
        site: &'c Site,
        shop: &'c ShopOptions,
        fields: &FieldOptions,
        store: &'c Store,
    ) -> Result<Self> {
        let place = site.server.place()?;
        let mut connection = Nodes::new(place.clone()).reach("").await?;
        let settings = settings::compare(&mut connection, site, fields, None).await;
        let settings = settings.map_err(|halt| halt.error(site))?;
        let link = Target::find(place).await?.connect().await?;
        let (keys, sales, given) = (Vec::new(), BTreeSet::new(), Given::default());
        let undone = BTreeMap::new();
        Ok(Self { link, store, site, shop, keys, sales, settings, given, undone })
    }

    /// What two looks find, one after the other; one look if the first finds nothing. A look may
    /// find what the one before could not see, so there may be another. What is new even then is
    /// neither confirmed nor refuted.
    async fn look_twice(&mut self) -> Result<(Look, Findings)> {
        let mut look = self.look().await?;
        let mut found = look.find();
        for is_last in [false, true] {
            if found.is_calm() {
                break;
            }
            tokio::time::sleep(SECOND_LOOK).await;
            let before = found;
            look = self.look().await?;
            found = look.find();
            if is_last || found.is_confirmed_by(&before) {
                found.confirm(&before);
                break;
            }
        }
        Ok((look, found))
    }

    async fn look(&mut self) -> Result<Look> {
        let mut look = Look {
            now_ms: self.link.time_ms().await?,
            given: self.given.clone(),
            ..Look::default()
        };
        for sale in &self.sales {
            let found = shards_of_sale(&self.link, sale).await?;
            look.lost_shards.extend(found.into_iter().flat_map(|(_, lost)| lost));
        }
        let mut by_stream: BTreeMap<String, (Source, Vec<VoucherKeys>)> = BTreeMap::new();
        for keys in &self.keys {
            let source = source_of_voucher(&self.link, self.site, keys);
            let its = by_stream.entry(source.name(Which::Orders).to_owned());
            its.or_insert_with(|| (source, Vec::new())).1.push(keys.clone());
        }
        for (source, vouchers) in by_stream.into_values() {
            self.look_at_streams(source, &vouchers, &mut look).await?;
        }
        // After the books: what a worker writes meanwhile is in the database, and not missing.
        let vouchers: Vec<&str> = self.keys.iter().map(|keys| &*keys.voucher).collect();
        if !vouchers.is_empty() {
            look.ledger = self.store.ledger(&vouchers).await?;
        }
        look.others = self.known_elsewhere(&look).await?;
        Ok(look)
    }

    /// Writes what needs no operator. Returns how many orders that were.
    async fn repair(&self, found: &Findings) -> Result<usize> {
        ensure_events(self.store, self.shop).await?;
        let by = &found.by_itself;
        let written = Cell::new(0);
        for fixes in
            by.fixes.chunk_by(|(_, one), (_, next)| discriminant(one) == discriminant(next))
        {
            for fixes in fixes.chunks(REPAIR_PIECE) {
                let keys = fixes.iter().map(|(key, _)| key.clone()).collect();
                let references =
                    fixes.iter().flat_map(|(_, fix)| fix.references()).cloned().collect();
                let before = written.get();
                // What has changed meanwhile is left: the next look says how.
                let change = |accounts: &mut Accounts| {
                    let done = fixes.iter().filter(|(key, fix)| fix.apply(accounts, key)).count();
                    written.set(before + done);
                    Some(())
                };
                self.store.rule(&keys, &references, RULED_BY, change).await?;
            }
        }
        let mut written = written.get();
        for events in by.events.chunks(REPAIR_PIECE) {
            self.store.apply(events).await?;
            let orders: BTreeSet<&OrderKey> = events.iter().map(|event| &event.key).collect();
            written += orders.len();
        }
        Ok(written)
    }

    /// Walks through the questions until there is none, or all that are left were passed over.
    async fn ask(&mut self, mut found: Findings, answer: impl Answering) -> Result<Findings> {
        let mut skipped = BTreeSet::new();
        loop {
            let next = found.questions.iter().find(|(about, _)| !skipped.contains(*about));
            let Some((about, question)) = next else { return Ok(found) };
            let report = Report::new(Findings::default(), self.site, self.shop.statements(), "");
            println!("{}", report.line(about, question));
            let answered = match self.typed(about, question) {
                Ok(Some(typed)) => answer(&typed).await.map(|()| true),
                Ok(None) => Ok(false),
                Err(error) => Err(error),
            };
            match answered {
                Ok(true) => (_, found) = self.look_twice().await?,
                Ok(false) => _ = skipped.insert(about.clone()),
                Err(error) => {
                    println!("{}", with_causes(&error));
                    skipped.insert(about.clone());
                }
            }
        }
    }

    /// The command of the answer that is typed; None if the question is passed over.
    fn typed(&self, about: &About, question: &Question) -> Result<Option<Resolve>> {
        let word = |answer: &String| answer.split(' ').next().unwrap_or_default().to_owned();
        if question.answers.is_empty() {
            println!("no answer is typed here");
            return Ok(None);
        }
        let mut words: Vec<String> = question.answers.iter().map(word).collect();
        words.push("skip".to_owned());
        print!("{}? ", words.join(", "));
        stdout().flush()?;
        let mut typed = String::new();
        stdin().lock().read_line(&mut typed)?;
        let chosen = question.answers.iter().find(|answer| word(answer) == typed.trim());
        let Some(chosen) = chosen else { return Ok(None) };
        let command = command_of(about, chosen).map(|command| command.parsed());
        let Some(Ok(Options { command: Some(Command::Resolve(mut resolve)), .. })) = command else {
            bail!("{chosen} is no answer");
        };
        (resolve.site, resolve.shop) = (self.site.clone(), self.shop.clone());
        // This one, whatever else has its id.
        (resolve.sale, resolve.order) =
            (Some(about.key.sale.clone()), Some(about.key.order.clone()));
        resolve.yes = true;
        Ok(Some(*resolve))
    }

    /// Notes sales that are over and consistent. Who may only read does not.
    async fn close_sales(&self, found: &Findings) {
        for (voucher, sale, units) in &found.closable {
            if let Err(fault) = self.store.close_sale(voucher, sale, *units).await {
                eprintln!("it is not noted that sale {sale} is consistent: {}", fault.text());
            }
        }
    }
}

/// The streams of a hash tag.
fn source_of(link: &Connection, site: &Site, tag: Option<&str>) -> Source {
    Source::new(link.clone(), site.streams_of(tag), &site.group, "")
}

/// The streams of a voucher.
pub fn source_of_voucher(link: &Connection, site: &Site, keys: &VoucherKeys) -> Source {
    let stream = keys.stream.as_deref().unwrap_or_default();
    source_of(link, site, tag_of_stream(stream.as_bytes(), site.stream.as_bytes()).as_deref())
}
