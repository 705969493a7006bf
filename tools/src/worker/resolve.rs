//! `seckill-worker resolve`: an operator answers a question of `check`. It shows the order on both
//! sides, does the server's steps, and then writes the ruling. Each step may be repeated: a kill
//! after any is ended by typing the command again.

mod payment;
mod server;
mod shard;

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

use anyhow::{Context, Result, bail, ensure};
use domain::account::Unclear;
use domain::resolve::{Answer, Resolution, ServerStep, plan};
use domain::rulings::{Wanted, rule};
use domain::server_state::Server;
use seckill_tools::connection::{Connection, Target};
use seckill_tools::sanitize::sanitize;
use seckill_tools::voucher_keys::VoucherKeys;

use crate::accounts::{Accounts, RefundLine};
use crate::check::{said_by_row, said_by_server, source_of_voucher};
use crate::options::{Resolve, Site};
use crate::order_events::OrderKey;
use crate::pairing::{Pairing, re_pair, why_unpaired};
use crate::settings::ensure_events;
use crate::source::Source;
use crate::store::Store;
use server::{Done, ask_server, on_server};

/// An order, and where it is.
struct Desk<'s> {
    site: &'s Site,
    store: &'s Store,
    yes: bool,
}

pub async fn resolve(wanted: &Resolve) -> Result<()> {
    let store = Store::to_look_at(&wanted.site, wanted.shop.statements())?;
    let resolved = resolve_with(wanted, &store).await;
    store.close().await;
    resolved
}

async fn resolve_with(wanted: &Resolve, store: &Store) -> Result<()> {
    if wanted.re_pair {
        return pair_again(wanted, store).await;
    }
    ensure_events(store, &wanted.shop).await?;
    let desk = Desk { site: &wanted.site, store, yes: wanted.yes };
    if let (Some(shard), Some(voucher)) = (wanted.shard, &wanted.voucher) {
        return desk.shard(voucher, shard).await;
    }
    let kept = wanted.keep.flatten();
    let is_of_payment =
        wanted.refund || wanted.refunded || wanted.units.is_some() || wanted.beyond.is_some();
    match (&wanted.payment, wanted) {
        (Some(reference), _) if is_of_payment => desk.payment(wanted, reference).await,
        (_, Resolve { accept: true, .. }) => desk.accept(&find(wanted, store).await?).await,
        (_, Resolve { refunded: true, .. }) => {
            let answer = Answer::Refunded { kept: kept.unwrap_or(0) };
            desk.order(&find(wanted, store).await?, answer).await
        }
        (_, Resolve { keep: Some(kept), .. }) => {
            desk.order(&find(wanted, store).await?, Answer::Keep(*kept)).await
        }
        (_, Resolve { release: true, .. }) => {
            desk.order(&find(wanted, store).await?, Answer::Release).await
        }
        (Some(reference), _) => desk.own(&find(wanted, store).await?, reference).await,
        (None, _) => bail!("resolve needs an answer"),
    }
}

/// Whether an order has the voucher, the sale, the user and the id that are given.
fn is_meant(wanted: &Resolve, key: &OrderKey) -> bool {
    let given = [&wanted.voucher, &wanted.sale, &wanted.user, &wanted.order];
    let its = [&key.voucher, &key.sale, &key.user, &key.order];
    given.into_iter().zip(its).all(|(given, its)| given.as_ref().is_none_or(|it| it == its))
}

/// The one order that is meant.
async fn find(wanted: &Resolve, store: &Store) -> Result<OrderKey> {
    let id = wanted.order.as_deref().unwrap_or_default();
    let mut keys = store.orders_of(id).await?;
    keys.retain(|key| is_meant(wanted, key));
    let shown = sanitize(id);
    let none = format!("the database has no order {shown}: if the server has it, check --repair");
    the_one(keys, none, format!("several orders have the id {shown}, name one"))
}

/// The only one of some orders; an error where there is none, or where they are several.
fn the_one(keys: BTreeSet<OrderKey>, none: String, several: String) -> Result<OrderKey> {
    let named = |OrderKey { voucher, sale, user, .. }: &OrderKey| {
        sanitize(&format!("--voucher={voucher} --sale={sale} --user={user}"))
    };
    ensure!(keys.len() < 2, "{several}: {}", keys.iter().map(named).collect::<Vec<_>>().join("; "));
    keys.into_iter().next().context(none)
}

impl Desk<'_> {
    /// Decides about an order.
    async fn order(&self, key: &OrderKey, answer: Answer) -> Result<()> {
        ensure!(
            key.is_managed(),
            "voucher {} is not managed: --accept takes the order as the database has it",
            sanitize(&key.voucher)
        );
        let (mut source, shown, server, references) = self.look(key).await?;
        let order = shown.get(key).context("the order is gone: look again")?;
        println!("in the database: {}", sanitize(&said_by_row(order, shown.conflicts(key))));
        println!("on the server: {}", sanitize(&said_by_server(&server)));
        let others = |reference: &String| shown.others(key, reference);
        if let Some((reference, unclear)) = order.account.unclear(others) {
            let what = match unclear {
                Unclear::Whose => "is of several orders, say first whose it is",
                Unclear::Units => "is not said to be of one number of units, say that first",
            };
            let reference = sanitize(reference);
            bail!("nothing was done: payment {reference} {what}: check prints the command");
        }
        let plan = plan(&order.account, &server, answer, others);
        if let Answer::Keep(Some(units)) | Answer::Refunded { kept: units } = answer {
            let kept = plan.ruling.kept;
            ensure!(
                units <= kept,
                "nothing was done: {units} units can't be kept, at most {kept}: the others are not \
                 paid, or refunded"
            );
        }
        describe(&plan);
        self.confirm()?;
        let mut said = plan.said.clone();
        let mut is_oversold = plan.ruling.is_without_units;
        let taken = plan.before.iter().map(|step| match step {
            ServerStep::Take { units } => *units,
            _ => 0,
        });
        let has = plan.ruling.kept.saturating_sub(taken.sum());
        for step in &plan.before {
            match on_server(&mut source, key, step).await? {
                Done::Yes => said.extend(step.says(has)),
                Done::TooFew => is_oversold = true,
            }
        }
        let now = ask_server(&mut source, key, &references).await?;
        ensure!(
            plan.is_as_shown(&server, &now),
            "the server has changed (somebody else has released units of the order): run the \
             worker, and look again"
        );
        let ruling = Wanted { is_without_units: is_oversold, ..plan.ruling.clone() };
        let shown = order.clone();
        let change = |accounts: &mut Accounts| {
            let mut next = accounts.get(key)?.clone();
            let others = |reference: &String| accounts.others(key, reference);
            rule(&mut next.account, &shown.account, &ruling, &said, others).ok()?;
            accounts.insert(key.clone(), next);
            Some(())
        };
        let lines = self.rule(&BTreeSet::from([key.clone()]), &references, change).await?;
        if let Some(step) = &plan.after {
            on_server(&mut source, key, step).await?;
        }
        let id = sanitize(&key.order);
        match ruling.kept {
            0 => println!("order {id} is released"),
            kept => println!("order {id} is kept with {kept} units"),
        }
        if is_oversold && !server.is_over && ruling.kept > 0 {
            println!("the sale lacks units of it: when some are left, repeat this command");
        }
        tell(&lines);
        Ok(())
    }

    /// The order of an unmanaged voucher is as the database has it.
    async fn accept(&self, key: &OrderKey) -> Result<()> {
        ensure!(!key.is_managed(), "--accept is for an unmanaged voucher");
        self.confirm()?;
        let change = |accounts: &mut Accounts| shard::accept(accounts, key).then_some(());
        let (keys, none) = (BTreeSet::from([key.clone()]), BTreeSet::new());
        let lines = self.rule(&keys, &none, change).await?;
        println!("order {} is accepted as it is", sanitize(&key.order));
        tell(&lines);
        Ok(())
    }

    /// Writes what was decided. Returns what is to be refunded by it.
    async fn rule(
        &self,
        keys: &BTreeSet<OrderKey>,
        references: &BTreeSet<String>,
        change: impl Fn(&mut Accounts) -> Option<()>,
    ) -> Result<Vec<RefundLine>> {
        Ok(self.store.rule(keys, references, &self.name(), change).await?)
    }

    /// Who rules, in the table of rulings.
    fn name(&self) -> String {
        let user = std::env::var("USER").unwrap_or_default();
        format!("operator {user}").trim().to_owned()
    }

    /// The streams of a voucher, where server and tables are paired.
    async fn paired_source(&self, link: &mut Connection, voucher: &String) -> Result<Source> {
        let keys = VoucherKeys::of_module(link, std::slice::from_ref(voucher)).await?;
        let keys = keys.first().context("the keys of the voucher")?;
        let mut source = source_of_voucher(link, self.site, keys);
        if !matches!(Pairing::read(&mut source, self.store).await?, Pairing::Same(_)) {
            bail!("{}", why_unpaired(&source, self.site, self.store.database()));
        }
        Ok(source)
    }

    /// The streams, the account, what the server says of an order, and all payments that either
    /// side names.
    async fn look(
        &self,
        key: &OrderKey,
    ) -> Result<(Source, Accounts, Server<String>, BTreeSet<String>)> {
        let mut link = Target::find(self.site.server.place()?).await?.connect().await?;
        let mut source = self.paired_source(&mut link, &key.voucher).await?;
        let mut references = BTreeSet::new();
        loop {
            let accounts = self.store.accounts(&BTreeSet::from([key.clone()]), &references).await?;
            references.extend(accounts.references().map(str::to_owned));
            let server = ask_server(&mut source, key, &references).await?;
            let booked = server.order.as_ref().and_then(|order| order.reference.clone());
            // What the book alone names is looked at in the database, too.
            if booked.is_none_or(|booked| !references.insert(booked)) {
                return Ok((source, accounts, server, references));
            }
        }
    }

    fn confirm(&self) -> Result<()> {
        ensure!(self.yes || is_confirmed()?, "nothing was done");
        Ok(())
    }
}

/// What will be done, in words.
fn describe(plan: &Resolution<String>) {
    for step in plan.before.iter().chain(&plan.after) {
        let words = match step {
            ServerStep::Cancel { kept: 0, .. } => "cancels it on the server".to_owned(),
            ServerStep::Cancel { kept, .. } => {
                format!("cancels all but {kept} of its units on the server")
            }
            ServerStep::Confirm { .. } => "confirms it on the server".to_owned(),
            ServerStep::Return { units } => format!("puts {units} units on sale again"),
            ServerStep::Take { units } => format!("takes {units} units off the sale"),
        };
        println!("- {words}");
    }
    let reference = plan.ruling.reference.as_deref().map(sanitize);
    match (plan.ruling.kept, reference) {
        (0, _) => println!("- releases it in the database"),
        (kept, None) => println!("- keeps {kept} units in the database"),
        (kept, Some(reference)) => {
            println!("- keeps {kept} units in the database, with payment {reference}");
        }
    }
}

/// What is to be refunded by it.
fn tell(lines: &[RefundLine]) {
    for line in lines {
        let reference = sanitize(&line.reference);
        match line.last {
            i64::MAX => println!("refund payment {reference} as a whole"),
            last => {
                let units = last.saturating_sub(line.first).saturating_add(1);
                println!("refund {units} units of payment {reference}");
            }
        }
    }
}

/// Server and tables are paired anew.
async fn pair_again(wanted: &Resolve, store: &Store) -> Result<()> {
    let site = &wanted.site;
    let streams = site.streams_of(None);
    let mut nodes = seckill_tools::nodes::Nodes::new(site.server.place()?);
    let connection = nodes.reach(&streams.orders).await?;
    let mut source = Source::new(connection, streams, &site.group, "");
    let (stream, server) = (&site.stream, site.server.without_password());
    match Pairing::read(&mut source, store).await? {
        Pairing::OtherServer => {}
        Pairing::Same(_) => {
            println!("{stream} is paired with this database already");
            return Ok(());
        }
        // Of a server with hash tags it may be the wrong stream.
        Pairing::New | Pairing::Begun(_) | Pairing::TablesLost { .. } => bail!(
            "nothing was done: a worker that reads {stream} at {server} pairs it when it starts"
        ),
    }
    println!("the entries of {stream} at {server} are read into this database from now on");
    ensure!(wanted.yes || is_confirmed()?, "nothing was done");
    re_pair(&mut source, store).await?;
    println!("paired: start the worker, then seckill-worker check");
    Ok(())
}

pub fn is_confirmed() -> Result<bool> {
    print!("Type yes to do it: ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}
