//! `seckill-worker dead-letter ENTRY`: an operator gives up an entry.

use std::collections::HashMap;

use anyhow::{Context, bail, ensure};
use domain::book::State;
use redis::{RedisResult, Value, cmd, from_redis_value};
use seckill_tools::nodes::Nodes;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::dead_letters;
use crate::halt::Halt;
use crate::options::DeadLetter;
use crate::order_events::{Event, OrderKey, Unfit, Which};
use crate::resolve::is_confirmed;
use crate::settings;
use crate::source::Source;
use crate::store::Store;

pub async fn make(wanted: &DeadLetter) -> anyhow::Result<()> {
    let site = &wanted.site;
    let streams = site.streams_of(None);
    let id = wanted.entry;
    let unasked = |error| Halt::Redis(error).error(site);
    let mut nodes = Nodes::new(site.server.place()?);
    let mut connection = nodes.reach(&streams.orders).await?;
    let settings = settings::compare(&mut connection, site, &wanted.fields, None).await;
    let settings = settings.map_err(|halt| halt.error(site))?;
    if settings.has_tags && !site.is_tagged() {
        bail!(
            "streams of this server have hash tags: name that of the entry by --stream, as \
             {}:{{TAG}}",
            site.stream
        );
    }
    let mut source = Source::new(connection, streams.clone(), &site.group, "dead-letter");
    let deliveries = source.deliveries(Which::Orders, id).await.map_err(unasked)?;
    let (name, group) = (&streams.orders, &site.group);
    let Some(deliveries) = deliveries else {
        bail!("entry {id} of {name} is not pending in group {group}: nothing to do");
    };
    let Some(entry) = source.entry(Which::Orders, id).await.map_err(unasked)? else {
        bail!("entry {id} is not in {name} any more; to acknowledge it: XACK {name} {group} {id}");
    };
    println!("entry {id} of {name}, delivered {deliveries} times:");
    for (name, value) in &entry.fields {
        let [name, value] = [name, value].map(|text| sanitize_bytes(text));
        println!("    {name}  {value}");
    }
    let order = Event::parse(Which::Orders, &entry, &settings.fields);
    let outlook = match wanted.keep_units {
        true => {
            Outlook { says: "It becomes a dead letter. Its units stay sold.".into(), held: false }
        }
        false => Outlook::of(&mut source, &order).await?,
    };
    println!("{}", outlook.says);
    if !wanted.yes {
        ensure!(is_confirmed()?, "nothing was done");
    }
    // No worker writes it meanwhile.
    let mine = source.claiming(Which::Orders, source.consumer().as_bytes(), &[id]);
    source.ask(&mine).await.map_err(unasked)?;
    if wanted.keep_units {
        // Its row, or that of another program, is what a check compares.
        let store = Store::to_look_at(site, None)?;
        let why = format!("entry {id} was given up, and its units kept");
        let noted = store.uncheck(name, group, &why, 0).await;
        store.close().await;
        noted?;
    }
    let is_done = match &order {
        _ if wanted.keep_units => {
            dead_letters::bury(&mut source, Which::Orders, &entry, &wanted.reason).await
        }
        // The order may be paid while the operator reads the question.
        _ => dead_letters::reject(&mut source, id, &wanted.reason, outlook.held).await,
    };
    let is_done = is_done.map_err(unasked)?;
    ensure!(is_done, "the order or its entry has changed in the meantime: nothing was done");
    println!("done: it is in {name}.dlq");
    Ok(())
}

/// What giving the entry up will do, as far as is known.
struct Outlook {
    says: String,
    /// The order is held, so nothing is paid.
    held: bool,
}

impl Outlook {
    async fn of(source: &mut Source, order: &Result<Event, Unfit>) -> anyhow::Result<Self> {
        let order = match order {
            Ok(order) => order,
            Err(unfit) => {
                let why = sanitize(unfit.why());
                let says =
                    format!("It becomes a dead letter, and what it sold is released: {why}.");
                return Ok(Self { says, held: false });
            }
        };
        let state = state(source, &order.key).await?;
        let [voucher, user] = [&order.key.voucher, &order.key.user].map(|text| sanitize(text));
        let released = format!("Its units of voucher {voucher} go back on sale.");
        let says = match state {
            Some(State::Released(reason)) => {
                let word = reason.word();
                format!("The order of {user} is {word} already: nothing is released.")
            }
            Some(State::Waiting) => {
                format!(
                    "The order of {user} waits in the queue and has no units: nothing is released."
                )
            }
            Some(State::Held) => format!("The order of {user} is held, not paid. {released}"),
            Some(State::Sold) => {
                format!("The order of {user} is SOLD: it may be paid. {released}")
            }
            None if order.key.is_managed() => {
                format!(
                    "No sale that is on has the order of {user}: it may be paid. Nothing is \
                     released."
                )
            }
            None => format!("The order of {user} counts as SOLD: it may be paid. {released}"),
        };
        Ok(Self { says, held: state == Some(State::Held) })
    }
}

/// The state of an order in the book of its sale, if that is on and has it.
async fn state(source: &mut Source, key: &OrderKey) -> anyhow::Result<Option<State>> {
    if !key.is_managed() {
        return Ok(None);
    }
    let mut ask = cmd("SECKILL.ORDER");
    ask.arg(&key.voucher).arg(&key.order);
    let answered: RedisResult<Option<HashMap<String, Value>>> =
        ask.query_async(source.connection()).await;
    let fields = match answered {
        Err(error) if error.code() == Some("NOVOUCHER") => None,
        answered => answered.context("SECKILL.ORDER")?,
    };
    let Some(fields) = fields else { return Ok(None) };
    let text = |name| from_redis_value::<String>(fields.get(name).cloned()?).ok();
    let is_it =
        text("user").as_ref() == Some(&key.user) && text("sale").as_ref() == Some(&key.sale);
    let state = text("state").filter(|_| is_it);
    Ok(state.and_then(|state| State::parse(state.as_bytes())))
}
