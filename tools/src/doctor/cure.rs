//! What could replace a selling script, the smallest change first: lines of `seckill.scripts`, then
//! Lua that calls SECKILL.TRYKEYS or SECKILL.TRY, then settings of the whole server. All are
//! guesses until `prove` has compared them with the script.

use domain::fields::ORDER_FIELDS;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
use domain::sale::Outcome;
use seckill_tools::sanitize::is_hidden;

use crate::finding::{Accepted, Codes};
use crate::reply::Reply;
use crate::sale::{Place, Sale};
use crate::template::{Slot, Template};
use crate::world::Kind;

/// The module's replies to a try.
const ACCEPTED: i64 = Outcome::Accepted.code();
const SOLD_OUT: i64 = Outcome::SoldOut.code();
const BOUGHT: i64 = Outcome::AtLimit.code();

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// A command for `seckill.scripts`: the application does not change.
    Native(String),
    /// Lua that replaces the script.
    Lua(String),
}

#[derive(Clone, Debug)]
pub struct Cure {
    pub way: Way,
    /// Names and values of settings, which apply to all clients of the server.
    pub settings: Vec<(&'static str, String)>,
    /// What a reader must know about it.
    pub notes: Vec<String>,
}

/// The parts of a call, as Lua and as words of `seckill.scripts`.
struct Call {
    command: &'static str,
    words: Vec<Template>,
    settings: Vec<(&'static str, String)>,
}

/// Why no command can replace the script; empty if one may.
pub fn obstacles(sale: &Sale) -> Vec<String> {
    let name = |slot| sale.name(slot);
    let mut obstacles = Vec::new();
    if sale.stock.kind != Kind::Text {
        obstacles.push(format!(
            "It keeps the stock in a field of a hash ({}). The module keeps it in a string: the \
             data would have to be converted, and until then the script stays.",
            sale.stock.shown(&name)
        ));
    }
    if sale.effects.taken.len() > 1 {
        obstacles.push(
            "It takes units from several keys in one call. A command takes from one voucher."
                .to_owned(),
        );
    }
    let buyers = sale.buyers();
    for place in sale.marks.iter().filter(|place| Some(*place) != buyers) {
        // A key that the caller passes whole may belong to a user or a request, or be a counter.
        if place.kind == Kind::Text && place.key.slot().is_some() {
            continue;
        }
        obstacles.push(format!(
            "It keeps marks in {}, by user or by try, which no command writes. A managed voucher \
             (SECKILL.CREATE) has a LIMIT per user, and answers a repeated order id as at first.",
            place.shown(&name)
        ));
    }
    let checks = checks(sale);
    if !checks.is_empty() {
        let shown: Vec<_> = checks.iter().map(|place| place.shown(&name)).collect();
        let mut text = format!(
            "It also looks at {}: a line without that check would sell where your script refuses.",
            shown.join(" and ")
        );
        if !sale.guards.is_empty() {
            text += " If these are the begin and end of the sale, a managed voucher has them: \
                SECKILL.CREATE voucher stock BEGIN unix-ms END unix-ms.";
        }
        if sale.stock.kind == Kind::Text {
            let call = match sale.buyers() {
                Some(_) => trykeys(sale, false),
                None => bare_call(sale),
            };
            text += &format!(
                " Or keep the checks in Lua, and put {} where the sale is made.",
                call.lua()
            );
        }
        obstacles.push(text);
    }
    obstacles
}

/// What the script reads besides the stock, the buyers and the keys that it writes itself.
fn checks(sale: &Sale) -> Vec<&Place> {
    let buyers = sale.buyers().map(|place| &place.key);
    let is_check = |place: &&Place| {
        let of_sale = place.key == sale.stock.key || Some(&place.key) == buyers;
        let own = place.kind == Kind::Text && place.key.slot().is_some();
        let writes = sale.extras.iter().any(|call| call.get(1) == Some(&place.key));
        let marks = sale.marks.contains(place);
        !of_sale && if marks { own } else { !writes }
            || sale.guards.iter().any(|(guard, _)| guard == *place)
    };
    sale.looks.iter().filter(is_check).collect()
}

/// Everything that could replace the script, the smallest change first.
pub fn ways(sale: &Sale, codes: &Codes) -> Vec<Cure> {
    if sale.buyers().is_none() {
        return if sale.user.is_none() || sale.marks.is_empty() && sale.looks.is_empty() {
            deduct(sale, codes)
        } else {
            Vec::new()
        };
    }
    let sold_out = codes.missing.is_some() && codes.missing == codes.sold_out;
    let mut calls = Vec::new();
    let by_names = try_by_names(sale, sold_out);
    let plain = by_names.as_ref().is_some_and(|call| call.settings.is_empty());
    if !plain {
        calls.push(trykeys(sale, sold_out));
    }
    calls.extend(by_names);
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for call in calls {
        let rest = if call.settings.is_empty() { &mut first } else { &mut last };
        let settings = || call.settings.clone();
        if says_module(codes)
            && sale.extras.is_empty()
            && let Some(native) = call.native()
        {
            rest.push(Cure { way: Way::Native(native), settings: settings(), notes: Vec::new() });
        }
        // Lua can name the keys itself, with SECKILL.TRYKEYS: it needs no settings.
        let mut notes = Vec::new();
        if !call.settings.is_empty() {
            continue;
        }
        if let Some(lua) = script(sale, &call, codes, &mut notes) {
            rest.push(Cure { way: Way::Lua(lua), settings: settings(), notes });
        }
    }
    let mut all: Vec<Cure> = first.into_iter().chain(last).collect();
    if codes.unlimited {
        let setting = || ("seckill.unlimited-stock", "yes".to_owned());
        all.iter_mut().for_each(|cure| cure.settings.push(setting()));
    }
    all
}

/// Whether the script's replies equal the module's.
fn says_module(codes: &Codes) -> bool {
    let is = |reply: &Option<Reply>, code| reply.as_ref().is_none_or(|r| *r == Reply::Int(code));
    (codes.accepted == Accepted::Code(Reply::Int(ACCEPTED)) || codes.accepted == Accepted::Varies)
        && is(&codes.sold_out, SOLD_OUT)
        && is(&codes.bought, BOUGHT)
}

impl Call {
    fn lua(&self) -> String {
        let words: Vec<String> = self.words.iter().map(Template::lua).collect();
        format!("redis.call('{}', {})", self.command, words.join(", "))
    }

    /// The call as an entry of `seckill.scripts`, whose words are KEYS, ARGV or texts, never joined
    /// ones.
    fn native(&self) -> Option<String> {
        let word = |template: &Template| match (template.slot(), template.constant()) {
            (Some(Slot::Field(_)), _) => None,
            (Some(slot), _) => Some(slot.to_string()),
            (None, Some(text)) => {
                let text = std::str::from_utf8(text).ok()?;
                let plain = |c: char| c.is_ascii_graphic() && !";\"'\\[]".contains(c);
                (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
            }
            _ => None,
        };
        let words: Vec<String> = self.words.iter().map(word).collect::<Option<_>>()?;
        Some(format!("{} {}", self.command, words.join(" ")))
    }
}

fn text(text: &str) -> Template {
    Template::of(text.as_bytes(), &[])
}

fn slot(slot: Option<Slot>, otherwise: &str) -> Template {
    slot.map_or_else(|| text(otherwise), Template::alone)
}

fn trykeys(sale: &Sale, sold_out: bool) -> Call {
    let stock = sale.stock.key.clone();
    let buyers = sale.buyers().map_or_else(|| text("buyers"), |place| place.key.clone());
    let fields = sale.fields();
    let stream = fields.as_ref().map_or_else(|| stock.clone(), |(stream, _)| (*stream).clone());
    let mut words = vec![
        stock,
        buyers,
        stream,
        slot(sale.voucher, "-"),
        slot(sale.user, "user"),
        slot(sale.order, "0"),
    ];
    if let Some(units) = sale.units {
        words.extend([text("UNITS"), Template::alone(units)]);
    }
    match fields {
        None => words.push(text("NOSTREAM")),
        Some((_, fields)) if fields.join(" ") != ORDER_FIELDS => {
            words.push(text("FIELDS"));
            words.extend(fields.iter().map(|name| text(name)));
        }
        Some(_) => {}
    }
    if sold_out {
        words.extend([text("MISSING"), text("sold-out")]);
    }
    Call { command: "SECKILL.TRYKEYS", words, settings: Vec::new() }
}

/// SECKILL.TRY, if each key's name is a prefix and the voucher.
fn try_by_names(sale: &Sale, sold_out: bool) -> Option<Call> {
    let (voucher, buyers) = (sale.voucher?, sale.buyers()?);
    let prefix = |key: &Template| {
        let prefix = key.prefix_of(voucher)?;
        let plain = prefix.is_ascii() && !prefix.is_empty() && !prefix.contains(&0);
        plain.then(|| String::from_utf8_lossy(&prefix).into_owned())
    };
    let fields = sale.fields();
    let stream = match &fields {
        None => String::new(),
        Some((stream, _)) => String::from_utf8(stream.constant()?.to_vec()).ok()?,
    };
    let named = fields.map_or_else(|| ORDER_FIELDS.to_owned(), |(_, fields)| fields.join(" "));
    let wanted = [
        ("seckill.stock-prefix", prefix(&sale.stock.key)?, STOCK_PREFIX),
        ("seckill.buyers-prefix", prefix(&buyers.key)?, BUYERS_PREFIX),
        ("seckill.order-stream", stream, ORDER_STREAM),
        ("seckill.order-fields", named, ORDER_FIELDS),
        ("seckill.missing-stock", if sold_out { "sold-out" } else { "error" }.into(), "error"),
    ];
    let settings = wanted.into_iter().filter(|(_, value, default)| value != default);
    let mut words = vec![Template::alone(voucher), slot(sale.user, ""), slot(sale.order, "0")];
    if let Some(units) = sale.units {
        words.extend([text("UNITS"), Template::alone(units)]);
    }
    let settings = settings.map(|(name, value, _)| (name, value)).collect();
    Some(Call { command: "SECKILL.TRY", words, settings })
}

fn bare_call(sale: &Sale) -> Call {
    let words = [sale.stock.key.clone()].into_iter().chain(sale.units.map(Template::alone));
    Call { command: "SECKILL.DEDUCT", words: words.collect(), settings: Vec::new() }
}

/// SECKILL.DEDUCT, for a stock without buyers.
fn deduct(sale: &Sale, codes: &Codes) -> Vec<Cure> {
    let call = bare_call(sale);
    let (units, lua) = (sale.units, call.lua());
    let taken = units.map_or_else(|| "1".to_owned(), |slot| format!("tonumber({slot})"));
    let accepted = match &codes.accepted {
        Accepted::Code(reply) => reply.lua(),
        Accepted::Left => Some(format!("n - {taken}")),
        Accepted::Before => Some("n".to_owned()),
        Accepted::Varies => None,
    };
    let out = codes.sold_out.as_ref().map_or(Some("0".to_owned()), Reply::lua);
    let missing = codes.missing.as_ref().map(Reply::lua);
    let (Some(accepted), Some(out)) = (accepted, out) else { return Vec::new() };
    let missing = match missing {
        None => "redis.error_reply('NOVOUCHER no stock key')".to_owned(),
        Some(None) => return Vec::new(),
        Some(Some(missing)) => missing,
    };
    let after: String = sale.extras.iter().map(|call| again(call) + " ").collect();
    let note =
        "SECKILL.DEDUCT takes a stock of -1 as unlimited, and any other negative stock is an \
         error: the doctor compares its replacement only with stocks of 0 and more."
            .to_owned();
    let lua = format!(
        "local n = {lua} if n == -1 then return {missing} end if n == 0 then return {out} end \
         {after}return {accepted}"
    );
    let mut ways = Vec::new();
    if let (true, Some(native)) = (sale.extras.is_empty(), call.native()) {
        let notes = vec![note.clone()];
        ways.push(Cure { way: Way::Native(native), settings: Vec::new(), notes });
    }
    ways.push(Cure { way: Way::Lua(lua), settings: Vec::new(), notes: vec![note] });
    ways
}

/// One of the script's own commands, as Lua.
pub fn again(call: &[Template]) -> String {
    let words: Vec<_> = call.iter().map(Template::lua).collect();
    format!("redis.call({})", words.join(", "))
}

/// The whole line: call the command, correct replies that differ, make the script's other calls,
/// translate the reply.
fn script(sale: &Sale, call: &Call, codes: &Codes, notes: &mut Vec<String>) -> Option<String> {
    let mut steps = Vec::new();
    let apart = codes.missing.as_ref().filter(|missing| Some(*missing) != codes.sold_out.as_ref());
    let asks = |r: &str| {
        let (buyers, user) = (sale.buyers()?.key.lua(), sale.user?);
        Some(format!("{r} and redis.call('SISMEMBER', {buyers}, {user}) == 1"))
    };
    let first_asked = codes.asks_buyers() && codes.missing.is_none() && codes.sold_out.is_some();
    if apart.is_some() || first_asked {
        let gone = "type(r) == 'table' and string.find(r.err, 'NOVOUCHER')";
        if let Some(bought) = codes.bought_and_missing.as_ref().filter(|_| codes.asks_buyers()) {
            steps.push(format!("if {} then return {} end", asks(gone)?, bought.lua()?));
        }
        if let Some(missing) = apart {
            steps.push(format!("if {gone} then return {} end", missing.lua()?));
        }
    }
    let first = codes.bought_and_out == codes.bought && codes.bought != codes.sold_out;
    if first && codes.bought.is_some() && codes.sold_out.is_some() {
        steps.push(format!("if {} then r = {BOUGHT} end", asks(&format!("r == {SOLD_OUT}"))?));
    }
    let extras: Vec<String> = sale.extras.iter().map(|call| again(call)).collect();
    if !extras.is_empty() {
        steps.push(format!("if r == {ACCEPTED} then {} end", extras.join(" ")));
        notes.push(
            "What your script writes beside the sale comes after it: if that fails, the sale stays."
                .to_owned(),
        );
    }
    let own = [ACCEPTED, SOLD_OUT, BOUGHT].map(|code| code.to_string());
    let stock = format!("tonumber(redis.call('GET', {}))", sale.stock.key.lua());
    let taken = sale.units.map_or_else(|| "1".to_owned(), |slot| slot.to_string());
    let accepted = match &codes.accepted {
        Accepted::Code(reply) => reply.lua()?,
        Accepted::Left => {
            steps.push(format!("if r == {ACCEPTED} then return {stock} end"));
            own[0].clone()
        }
        Accepted::Before => {
            steps.push(format!("if r == {ACCEPTED} then return {stock} + {taken} end"));
            own[0].clone()
        }
        Accepted::Varies => return None,
    };
    let mut other = |reply: &Option<Reply>, usual: &String, what: &str| match reply {
        Some(reply) => reply.lua(),
        None => {
            notes.push(format!("Your script never says {what}. The replacement says {usual}."));
            Some(usual.clone())
        }
    };
    let sold_out = other(&codes.sold_out, &own[1], "that all is sold")?;
    let bought = other(&codes.bought, &own[2], "that the user has bought before")?;
    let same = [&accepted, &sold_out, &bought] == [&own[0], &own[1], &own[2]];
    let table =
        format!("{{[{ACCEPTED}] = {accepted}, [{SOLD_OUT}] = {sold_out}, [{BOUGHT}] = {bought}}}");
    let lua = call.lua();
    let lua = if apart.is_some() || first_asked {
        lua.replacen("redis.call", "redis.pcall", 1)
    } else {
        lua
    };
    Some(match (steps.is_empty(), same) {
        (true, true) => format!("return {lua}"),
        (true, false) => format!("local code = {table} return code[{lua}]"),
        (false, true) => format!("local r = {lua} {} return r", steps.join(" ")),
        (false, false) => {
            let error = "if type(r) == 'table' then return r end ";
            let error = if lua.starts_with("redis.pcall") { error } else { "" };
            format!("local r = {lua} {} {error}return ({table})[r]", steps.join(" "))
        }
    })
}

/// A line of redis.conf.
pub fn conf_line(name: &str, value: &str) -> String {
    let bare = |c: char| !c.is_whitespace() && !"\"'\\#".contains(c) && !is_hidden(c);
    if !value.is_empty() && value.chars().all(bare) {
        return format!("{name} {value}");
    }
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        hidden if is_hidden(hidden) => {
            hidden.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        letter => letter.to_string(),
    };
    format!("{name} \"{}\"", value.chars().map(letter).collect::<String>())
}
