//! What takes a script's place: settings of the module, and a script that calls it.

use domain::fields::ORDER_FIELDS;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
use domain::sale::Outcome;

use crate::codes::{Accepted, Codes, Runs};
use crate::reply::Reply;
use crate::scenario;
use crate::shape::{Shape, Try};
use crate::state;
use crate::template::{Part, Slot, Template};

/// What the module replies to a try.
const ACCEPTED: i64 = Outcome::Accepted.code();
const SOLD_OUT: i64 = Outcome::SoldOut.code();
const BOUGHT: i64 = Outcome::AlreadyBought.code();

pub struct Cure {
    /// Names and values of configurations that are not at their defaults.
    pub settings: Vec<(&'static str, String)>,
    /// One line of Lua that takes the script's place.
    pub script: String,
    /// The command that clients can call without any script.
    pub direct: Option<String>,
    /// Whether it is SECKILL.TRYKEYS, and why.
    pub keys_because: Option<String>,
    /// What a reader has to know of the replacement.
    pub notes: Vec<String>,
}

/// The name that the buyers should have, where the script has the user in it by mistake.
fn buyers_of_voucher(shape: &Shape) -> Option<Template> {
    let (buyers, user, voucher) = (shape.buyers.as_ref()?, shape.user?, shape.voucher?);
    let of_user = buyers.slots().eq([user]) && user != voucher;
    let part = |part: &Part| match part {
        Part::Slot(_) => Part::Slot(voucher),
        text @ Part::Text(_) => text.clone(),
    };
    of_user.then(|| Template(buyers.0.iter().map(part).collect()))
}

/// What nobody has seen of a script that never gets to its end.
fn unseen(shape: &Shape, codes: &Codes) -> Option<String> {
    if let Some(failing) = &shape.failing {
        let shown: Vec<_> =
            failing.iter().map(|word| word.shown(&|slot| shape.name(slot))).collect();
        let text = format!("The step that fails is left out: {}.", shown.join(" "));
        let stream = "If orders belong into a stream, set seckill.order-stream to its name, and \
            give the order id as the last argument.";
        let is_order = failing[0].constant() == Some(b"XADD");
        return Some(if is_order { format!("{text} {stream}") } else { text });
    }
    let text = "Your script never came to its end, so nobody has seen whether it would have \
        appended orders to a stream. If so, set seckill.order-stream to its name, and give the \
        order id as the last argument.";
    codes.accepted.is_none().then(|| text.to_owned())
}

/// The names that SECKILL.TRY would make, where it can.
struct Names {
    stock: Vec<u8>,
    buyers: Vec<u8>,
    stream: Vec<u8>,
    voucher: Slot,
}

impl Cure {
    pub fn of(shape: &Shape, codes: &Codes, runs: &Runs, a_try: &Try) -> Option<Self> {
        let user = shape.user?;
        let mended = buyers_of_voucher(shape);
        let buyers = mended.as_ref().or(shape.buyers.as_ref())?;
        let mut settings = Vec::new();
        let (mut call, mut keys_because) = (String::new(), None);
        match names(shape, buyers) {
            Ok(names) => {
                let settings = &mut settings;
                set(settings, "seckill.stock-prefix", &names.stock, STOCK_PREFIX);
                set(settings, "seckill.buyers-prefix", &names.buyers, BUYERS_PREFIX);
                set(settings, "seckill.order-stream", &names.stream, ORDER_STREAM);
                call += &format!("'SECKILL.TRY', {}, {user}, {}", names.voucher, order(shape));
            }
            Err(why) => {
                call += &trykeys(shape, buyers, user);
                keys_because = Some(why);
            }
        }
        if let Some(units) = shape.units {
            call += &format!(", 'UNITS', {units}");
        }
        if keys_because.is_some() && shape.orders.is_none() {
            call += ", 'NOSTREAM'";
        }
        if let Some(orders) = &shape.orders {
            set(
                &mut settings,
                "seckill.order-fields",
                orders.fields.join(" ").as_bytes(),
                ORDER_FIELDS,
            );
        }
        if codes.missing.is_some() && codes.missing == codes.sold_out {
            settings.push(("seckill.missing-stock", "sold-out".into()));
        }
        if is_unlimited(shape, runs, a_try) {
            settings.push(("seckill.unlimited-stock", "yes".into()));
        }
        let mut notes = Vec::new();
        notes.extend(unseen(shape, codes));
        if mended.is_some() {
            let shown = buyers.shown(&|slot| shape.name(slot));
            notes.push(format!(
                "It remembers buyers in {shown}. Those that your script remembers are not there."
            ));
        }
        if !shape.extras.is_empty() {
            notes.push(
                "What your script writes beside the sale comes after it: if that fails, the sale \
                 is made all the same."
                    .to_owned(),
            );
        }
        let told = Told::of(codes, &mut notes);
        let script = script(shape, buyers, user, &call, codes, &told)?;
        let plain = script == format!("return redis.call({call})");
        let direct = plain.then(|| direct(shape, keys_because.is_some()));
        Some(Self { settings, script, direct, keys_because, notes })
    }
}

fn set(
    settings: &mut Vec<(&'static str, String)>,
    name: &'static str,
    value: &[u8],
    default: &str,
) {
    if value != default.as_bytes() {
        settings.push((name, String::from_utf8_lossy(value).into_owned()));
    }
}

/// The order id, or any text where it is kept nowhere.
fn order(shape: &Shape) -> String {
    shape.order.map_or_else(|| "'0'".into(), |order| order.to_string())
}

/// Why the configured names can't be the script's; or those names.
fn names(shape: &Shape, buyers: &Template) -> Result<Names, String> {
    let shown = |key: &Template| key.shown(&|slot| shape.name(slot));
    let Some(voucher) = shape.voucher.filter(|_| shape.stock.slot().is_none()) else {
        let named = shape.stock.slot().is_some();
        let why = if named { "the caller names the keys" } else { "no argument is the voucher" };
        return Err(why.into());
    };
    let (stock, sold) = (shape.stock.prefix_of(voucher), buyers.prefix_of(voucher));
    let not = |key: &Template| format!("{} is no prefix and the voucher", shown(key));
    let stock = stock.ok_or_else(|| not(&shape.stock))?;
    let buyers = sold.ok_or_else(|| not(buyers))?;
    if stock == buyers {
        return Err("stock and buyers have one name".into());
    }
    let stream = match &shape.orders {
        None => Vec::new(),
        Some(orders) => match orders.stream.constant() {
            Some(name) => name.to_vec(),
            None => return Err(format!("the stream {} is not one for all", shown(&orders.stream))),
        },
    };
    if [&stock, &buyers, &stream].iter().any(|name| !name.is_ascii() || name.contains(&0)) {
        return Err("a name has bytes that no configuration can hold".into());
    }
    Ok(Names { stock, buyers, stream, voucher })
}

fn trykeys(shape: &Shape, buyers: &Template, user: Slot) -> String {
    let stock = shape.stock.lua();
    let stream = shape.orders.as_ref().map_or_else(|| stock.clone(), |orders| orders.stream.lua());
    let voucher = shape.voucher.map_or_else(|| "'-'".into(), |voucher| voucher.to_string());
    let order = order(shape);
    format!("'SECKILL.TRYKEYS', {stock}, {}, {stream}, {voucher}, {user}, {order}", buyers.lua())
}

fn direct(shape: &Shape, by_keys: bool) -> String {
    let (keys, stream) = match (by_keys, shape.orders.is_some()) {
        (true, true) => ("TRYKEYS stock buyers orders ", ""),
        (true, false) => ("TRYKEYS stock buyers stock ", " NOSTREAM"),
        (false, _) => ("TRY ", ""),
    };
    let units = if shape.units.is_some() { " UNITS units" } else { "" };
    format!("SECKILL.{keys}voucher user orderid{units}{stream}")
}

/// Whether -1 stands for a stock that never runs out.
fn is_unlimited(shape: &Shape, runs: &Runs, a_try: &Try) -> bool {
    let ran = &runs[scenario::MINUS_ONE];
    let stays = state::number(ran.after(), &shape.stock_key(a_try)) == Some(-1);
    stays && !ran.silent(0) && !ran.first().is_error()
}

/// What the replacement says for each outcome, as Lua.
struct Told {
    accepted: String,
    sold_out: String,
    bought: String,
}

impl Told {
    fn of(codes: &Codes, notes: &mut Vec<String>) -> Self {
        let known: Vec<&Reply> = codes
            .sold_out
            .iter()
            .chain(&codes.bought)
            .chain(match &codes.accepted {
                Some(Accepted::Code(reply)) => Some(reply),
                _ => None,
            })
            .collect();
        let mut taken: Vec<String> = known.into_iter().filter_map(Reply::lua).collect();
        let mut tell = |reply: Option<&Reply>, usual: i64, what: &str| {
            if let Some(told) = reply.and_then(Reply::lua) {
                return told;
            }
            let free = [usual, 0, 1, 2, -1, -2].map(|code| code.to_string());
            let free = free.into_iter().find(|code| !taken.contains(code)).unwrap_or_default();
            notes.push(format!("Your script never says {what}. The replacement says {free}."));
            taken.push(free.clone());
            free
        };
        let accepted = match &codes.accepted {
            Some(Accepted::Code(reply)) => tell(Some(reply), ACCEPTED, "that a try is accepted"),
            Some(_) => ACCEPTED.to_string(),
            None => tell(None, ACCEPTED, "that a try is accepted"),
        };
        let sold_out = tell(codes.sold_out.as_ref(), SOLD_OUT, "that all is sold");
        let bought = tell(codes.bought.as_ref(), BOUGHT, "that the user has bought before");
        Self { accepted, sold_out, bought }
    }
}

/// The whole line: call, put right what differs, do what else the script did, translate.
fn script(
    shape: &Shape,
    buyers: &Template,
    user: Slot,
    call: &str,
    codes: &Codes,
    told: &Told,
) -> Option<String> {
    let Told { accepted, sold_out, bought } = told;
    let mut steps = Vec::new();
    let apart = codes.missing.as_ref().filter(|missing| Some(*missing) != codes.sold_out.as_ref());
    if let Some(missing) = apart {
        let missing = missing.lua()?;
        steps.push(format!(
            "if type(r) == 'table' and string.find(r.err, 'NOVOUCHER') then return {missing} end"
        ));
        steps.push("if type(r) == 'table' then return r end".into());
    }
    let buyers_first = codes.accepted.is_some()
        && codes.sold_out.is_some()
        && codes.bought.is_some()
        && codes.bought_and_out == codes.bought
        && codes.bought != codes.sold_out;
    if buyers_first {
        let buyers = buyers.lua();
        steps.push(format!(
            "if r == {SOLD_OUT} and redis.call('SISMEMBER', {buyers}, {user}) == 1 then \
             r = {BOUGHT} end"
        ));
    }
    let extras: Vec<String> = shape
        .extras
        .iter()
        .map(|call| {
            let words: Vec<_> = call.iter().map(Template::lua).collect();
            format!("redis.call({})", words.join(", "))
        })
        .collect();
    if !extras.is_empty() {
        steps.push(format!("if r == {ACCEPTED} then {} end", extras.join(" ")));
    }
    let own = [ACCEPTED, SOLD_OUT, BOUGHT].map(|code| code.to_string());
    let accepted = match &codes.accepted {
        Some(Accepted::Left) => {
            steps.push(format!(
                "if r == {ACCEPTED} then return tonumber(redis.call('GET', {})) end",
                shape.stock.lua()
            ));
            &own[0]
        }
        Some(Accepted::Varies) => return None,
        _ => accepted,
    };
    let same = [accepted, sold_out, bought] == own.each_ref();
    let table =
        format!("{{[{ACCEPTED}] = {accepted}, [{SOLD_OUT}] = {sold_out}, [{BOUGHT}] = {bought}}}");
    let caller = if apart.is_some() { "pcall" } else { "call" };
    let call = format!("redis.{caller}({call})");
    Some(match (steps.is_empty(), same) {
        (true, true) => format!("return {call}"),
        (true, false) => format!("local code = {table} return code[{call}]"),
        (false, true) => format!("local r = {call} {} return r", steps.join(" ")),
        (false, false) => format!("local r = {call} {} return ({table})[r]", steps.join(" ")),
    })
}

/// A line of redis.conf.
pub fn conf_line(name: &str, value: &str) -> String {
    if value.is_empty() || value.contains([' ', '"', '\\', '#']) {
        format!("{name} \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("{name} {value}")
    }
}

/// A script that sells in a cluster, called with the voucher as its key.
pub fn cluster_script(cure: &Cure) -> Option<&'static str> {
    let by_voucher = "return redis.call('SECKILL.TRY', KEYS[1], ARGV[1], ARGV[2])";
    cure.keys_because.is_none().then_some(by_voucher)
}

/// The one line that releases a lock.
pub fn release(
    lock: &Template,
    token: &Template,
    yes: &str,
    no: &str,
    absent: Option<&str>,
) -> String {
    let (lock, token) = (lock.lua(), token.lua());
    let check = absent.map_or_else(String::new, |absent| {
        format!("if redis.call('EXISTS', {lock}) == 0 then return {absent} end ")
    });
    let call = format!("redis.call('LOCK.RELEASE', {lock}, {token})");
    if [yes, no] == ["1", "0"] {
        format!("{check}return {call}")
    } else {
        format!("{check}if {call} == 1 then return {yes} end return {no}")
    }
}

/// The same for who replies one thing whatever happens.
pub fn release_silently(lock: &Template, token: &Template, told: &str) -> String {
    format!("redis.call('LOCK.RELEASE', {}, {}) return {told}", lock.lua(), token.lua())
}
