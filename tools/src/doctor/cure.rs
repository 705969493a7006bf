//! What could replace a selling script, the best first: a line of `seckill.scripts` or of Lua that
//! calls SECKILL.TRY, with the settings of the server that it needs, then the same with
//! SECKILL.TRYKEYS, which needs none. All are guesses until `prove` has compared them with the
//! script.

use domain::fields::ORDER_FIELDS;
use domain::sale::Outcome;

use crate::conf::{DEFAULTS, Setting};
use crate::finding::{Accepted, Codes};
use crate::reply::Reply;
use crate::sale::Sale;
use crate::template::{Slot, Template};

/// The module's replies to a try.
pub const ACCEPTED: i64 = Outcome::Accepted.code();
pub const SOLD_OUT: i64 = Outcome::SoldOut.code();
pub const BOUGHT: i64 = Outcome::AtLimit.code();

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// A command for `seckill.scripts`: the application does not change.
    Native(String),
    /// Lua that replaces the script.
    Lua(String),
}

impl Way {
    pub fn lua(&self) -> Option<&str> {
        if let Self::Lua(lua) = self { Some(lua) } else { None }
    }
}

#[derive(Clone, Debug)]
pub struct Cure {
    pub way: Way,
    /// Names and values of settings, which apply to all clients of the server.
    pub settings: Vec<Setting>,
    /// What a reader must know about it.
    pub notes: Vec<String>,
}

impl Cure {
    /// Its settings, and its entry of `seckill.scripts` last.
    pub fn settings_with(&self, entry: Option<String>) -> Vec<Setting> {
        let entry = entry.map(|entry| ("seckill.scripts", entry));
        self.settings.iter().cloned().chain(entry).collect()
    }

    /// Each setting that must have this value for the replacement, also if it is the default.
    pub fn needs(&self) -> Vec<Setting> {
        let text = match &self.way {
            Way::Native(text) | Way::Lua(text) => text,
        };
        let is_needed = |name: &str| match name {
            _ if text.contains("SECKILL.TRYKEYS") => match name {
                "seckill.order-fields" => !text.contains("FIELDS") && !text.contains("NOSTREAM"),
                "seckill.missing-stock" => !text.contains("MISSING"),
                "seckill.unlimited-stock" => true,
                _ => false,
            },
            _ => text.contains("SECKILL.TRY"),
        };
        let value = |name, default: &str| {
            let own = self.settings.iter().find(|(own, _)| *own == name);
            own.map_or_else(|| default.to_owned(), |(_, value)| value.clone())
        };
        let needed = DEFAULTS.into_iter().filter(|(name, _)| is_needed(name));
        needed.map(|(name, default)| (name, value(name, default))).collect()
    }
}

/// The parts of a call, as Lua and as words of `seckill.scripts`.
pub struct Call {
    command: &'static str,
    words: Vec<Template>,
    settings: Vec<Setting>,
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
    let by_names = try_by_names(sale, sold_out);
    let is_plain = by_names.as_ref().is_some_and(|call| call.settings.is_empty());
    let by_keys = (!is_plain).then(|| trykeys(sale, sold_out));
    let mut all = Vec::new();
    for call in by_names.into_iter().chain(by_keys) {
        let cure = |way, notes| Cure { way, settings: call.settings.clone(), notes };
        let closes = closes(&call);
        let native = call.native().filter(|_| says_module(codes) && sale.extras.is_empty());
        let mut notes: Vec<String> = closes.iter().cloned().collect();
        // A line of Lua that needs settings is for scripts that nothing else can answer.
        let needs_lua = native.is_none() || call.settings.is_empty();
        if let Some(native) = native {
            all.push(cure(Way::Native(native), std::mem::take(&mut notes)));
        }
        if needs_lua && let Some(lua) = script(sale, &call, codes, &mut notes) {
            all.push(cure(Way::Lua(lua), notes));
        }
    }
    if codes.unlimited {
        let setting = || ("seckill.unlimited-stock", "yes".to_owned());
        all.iter_mut().for_each(|cure| cure.settings.push(setting()));
    }
    all
}

/// What a shop can't have later if it calls SECKILL.TRYKEYS now.
fn closes(call: &Call) -> Option<String> {
    let has = |word: &str| call.words.iter().any(|own| own.constant() == Some(word.as_bytes()));
    let worker = if has("FIELDS") {
        ", and seckill-worker must be told the names of its fields"
    } else {
        ""
    };
    (call.command == "SECKILL.TRYKEYS").then(|| {
        format!(
            "SECKILL.TRYKEYS knows no managed voucher (reservations, limits, begin and \
             end){worker}."
        )
    })
}

/// Whether the script's replies equal the module's.
fn says_module(codes: &Codes) -> bool {
    let is = |reply: &Option<Reply>, code| reply.as_ref().is_none_or(|r| *r == Reply::Int(code));
    (codes.accepted == Accepted::Code(Reply::Int(ACCEPTED)) || codes.accepted == Accepted::Varies)
        && is(&codes.sold_out, SOLD_OUT)
        && is(&codes.bought, BOUGHT)
}

impl Call {
    pub fn lua(&self) -> String {
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

pub fn trykeys(sale: &Sale, sold_out: bool) -> Call {
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
    // In the order of DEFAULTS.
    let missing = if sold_out { "sold-out" } else { "error" }.to_owned();
    let wanted = [prefix(&sale.stock.key)?, prefix(&buyers.key)?, stream, named, missing];
    let settings = DEFAULTS.into_iter().zip(wanted);
    let settings = settings.filter(|((_, default), value)| value != default);
    let mut words = vec![Template::alone(voucher), slot(sale.user, ""), slot(sale.order, "0")];
    if let Some(units) = sale.units {
        words.extend([text("UNITS"), Template::alone(units)]);
    }
    let settings = settings.map(|((name, _), value)| (name, value)).collect();
    Some(Call { command: "SECKILL.TRY", words, settings })
}

pub fn bare_call(sale: &Sale) -> Call {
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

/// The command that a client can call without any script.
pub fn direct(cures: &[Cure]) -> Option<String> {
    let mut lines = cures.iter().filter_map(|cure| cure.way.lua());
    let call = lines.find_map(|lua| lua.strip_prefix("return redis.call('"))?;
    let command = call.split('\'').next()?;
    let has = |word: &str, shown: &'static str| if call.contains(word) { shown } else { "" };
    let units = has("'UNITS'", " UNITS units");
    Some(match command {
        "SECKILL.TRY" => format!("SECKILL.TRY voucher user orderid{units}"),
        "SECKILL.TRYKEYS" => format!(
            "SECKILL.TRYKEYS stock buyers {} voucher user orderid{units}{}{}{}",
            if call.contains("'NOSTREAM'") { "stock" } else { "orders" },
            has("'NOSTREAM'", " NOSTREAM"),
            has("'FIELDS'", " FIELDS user-field voucher-field id-field"),
            has("'MISSING'", " MISSING sold-out")
        ),
        _ => return None,
    })
}
