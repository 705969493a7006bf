//! What a selling script is made of: which argument is what, and what its keys are called.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::roles::Roles;
use crate::source::Source;
use crate::template::{Slot, Template};
use crate::trace::{Call, Watch};
use crate::watch::{Run, deduction, eval, nearest_to_a_sale};

/// A selling script, understood.
pub struct Shape {
    pub slots: Vec<Slot>,
    pub stock: Template,
    /// The set of buyers.
    pub buyers: Option<Template>,
    pub orders: Option<Orders>,
    pub user: Option<Slot>,
    pub voucher: Option<Slot>,
    pub order: Option<Slot>,
    pub units: Option<Slot>,
    /// What else it writes when it sells, command by command.
    pub extras: Vec<Vec<Template>>,
    /// The step that it fails at when it sells, if it does.
    pub failing: Option<Vec<Template>>,
    /// Why no command of the module can take its place.
    pub obstacles: Vec<String>,
    /// Every key that it looked at or wrote.
    pub touched: Vec<Template>,
    fixed: BTreeMap<Slot, Vec<u8>>,
}

/// The stream of orders, as the module can write it.
pub struct Orders {
    pub stream: Template,
    /// The names of the fields for user, voucher and order id.
    pub fields: [String; 3],
}

/// One try of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Try {
    pub voucher: &'static str,
    pub user: Vec<u8>,
    pub order: String,
}

impl Shape {
    /// Watches the script; `Err` in the inner result says in words what is not understood.
    pub fn of(
        watch: &mut Watch,
        source: &Source,
        roles: &Roles,
    ) -> Result<std::result::Result<Self, String>> {
        let slots = roles.slots(source);
        let value = |slot: Slot| roles.fixed.get(&slot).cloned().unwrap_or_else(|| slot.mark());
        let run = nearest_to_a_sale(watch, source, &slots, &value)?;
        let marked: Vec<Slot> =
            slots.iter().copied().filter(|slot| !roles.fixed.contains_key(slot)).collect();
        let template = |text: &[u8]| Template::of(text, &marked);

        let mut touched: Vec<Template> = Vec::new();
        for call in &run.calls {
            for key in keys_of(watch, call)? {
                let key = template(&key);
                if !touched.contains(&key) {
                    touched.push(key);
                }
            }
        }
        let mut found = Found { run: &run, template: &template, obstacles: Vec::new() };
        let Some(stock) = found.stock().or_else(|| roles.key("stock").map(alone)) else {
            return Ok(Err(not_a_sale(&run, &template)));
        };
        let (buyers, user) = found.buyers(&stock, roles);
        let orders = found.orders(user, roles);
        let (voucher, order, orders) = found.voucher_and_order(&stock, user, orders, roles, &slots);
        let units = found.units().or_else(|| roles.arg("units"));
        let extras = found.extras(&stock, buyers.as_ref(), orders.as_ref());
        let obstacles = found.obstacles;
        let fails = run.deducts() && run.reply.is_error();
        let failing = run.calls.last().filter(|_| fails);
        let failing = failing.map(|call| call.iter().map(|word| template(word)).collect());
        let fixed = roles.fixed.clone();
        Ok(Ok(Self {
            slots,
            stock,
            buyers,
            orders,
            user,
            voucher,
            order,
            units,
            extras,
            failing,
            obstacles,
            touched,
            fixed,
        }))
    }

    /// What stands in a slot for a try. With `tag` keys that the caller names are in one slot of a
    /// cluster.
    pub fn value(&self, slot: Slot, a_try: &Try, tag: bool) -> Vec<u8> {
        let voucher = if tag { format!("{{{}}}", a_try.voucher) } else { a_try.voucher.to_owned() };
        let is = |template: Option<&Template>| template.and_then(Template::slot) == Some(slot);
        if let Some(fixed) = self.fixed.get(&slot) {
            fixed.clone()
        } else if Some(slot) == self.user {
            a_try.user.clone()
        } else if Some(slot) == self.voucher {
            a_try.voucher.into()
        } else if Some(slot) == self.order {
            a_try.order.clone().into_bytes()
        } else if is(Some(&self.stock)) {
            format!("stock:{voucher}").into_bytes()
        } else if is(self.buyers.as_ref()) {
            format!("buyers:{voucher}").into_bytes()
        } else if is(self.orders.as_ref().map(|orders| &orders.stream)) {
            format!("orders:{voucher}").into_bytes()
        } else if let Slot::Key(number) = slot {
            format!("key{number}:{voucher}").into_bytes()
        } else {
            // Units, a limit, a time to live: 1 is a good one of each.
            b"1".to_vec()
        }
    }

    /// The command that runs a script for a try.
    pub fn eval(&self, script: &[u8], a_try: &Try, tag: bool) -> Vec<Vec<u8>> {
        eval(script, &self.slots, &|slot| self.value(slot, a_try, tag))
    }

    pub fn stock_key(&self, a_try: &Try) -> Vec<u8> {
        self.key(&self.stock, a_try)
    }

    pub fn buyers_key(&self, a_try: &Try) -> Option<Vec<u8>> {
        self.buyers.as_ref().map(|buyers| self.key(buyers, a_try))
    }

    /// The stream, also one that the module could not write.
    pub fn stream_key(&self, a_try: &Try) -> Option<Vec<u8>> {
        let own = self.orders.as_ref().map(|orders| &orders.stream);
        let is_xadd = |call: &&Vec<Template>| call[0].constant() == Some(b"XADD");
        let other = self.extras.iter().find(is_xadd).and_then(|call| call.get(1));
        own.or(other).map(|stream| self.key(stream, a_try))
    }

    pub fn key(&self, template: &Template, a_try: &Try) -> Vec<u8> {
        template.text(&|slot| self.value(slot, a_try, false))
    }

    /// What a slot is called in a report.
    pub fn name(&self, slot: Slot) -> String {
        let named = |key: Option<&Template>| key.and_then(Template::slot);
        let roles = [
            (self.voucher, "voucher"),
            (self.user, "user"),
            (self.order, "order"),
            (self.units, "units"),
            (named(Some(&self.stock)), "stock"),
            (named(self.buyers.as_ref()), "buyers"),
            (named(self.orders.as_ref().map(|orders| &orders.stream)), "stream"),
        ];
        let role = roles.iter().find(|(role, _)| *role == Some(slot));
        role.map_or_else(|| slot.to_string(), |(_, name)| (*name).to_owned())
    }
}

fn alone(slot: Slot) -> Template {
    Template(vec![crate::template::Part::Slot(slot)])
}

/// The keys of a command, as the server itself sees them.
pub fn keys_of(watch: &mut Watch, call: &Call) -> Result<Vec<Vec<u8>>> {
    let mut ask = vec![b"COMMAND".to_vec(), b"GETKEYS".to_vec()];
    ask.extend(call.iter().cloned());
    let keys = watch.client.must(&ask);
    // A command without keys is an error here.
    Ok(keys.ok().and_then(|keys| redis::from_redis_value(keys).ok()).unwrap_or_default())
}

/// What it did in place of a sale, with the keys, which may be those that it misses.
fn not_a_sale(run: &Run, template: &impl Fn(&[u8]) -> Template) -> String {
    let shown = |call: &Call| {
        let words = call.iter().take(2).map(|word| template(word).shown(&|slot| slot.to_string()));
        words.collect::<Vec<_>>().join(" ")
    };
    let called: Vec<_> = run.calls.iter().map(shown).collect();
    let called = if called.is_empty() { "nothing".into() } else { called.join(", ") };
    format!("it called {called}, took units from no key, and replied {}", run.reply)
}

struct Found<'a, F: Fn(&[u8]) -> Template> {
    run: &'a Run,
    template: &'a F,
    obstacles: Vec<String>,
}

impl<F: Fn(&[u8]) -> Template> Found<'_, F> {
    /// The templates behind the name of the first call of one of these names.
    fn first(&self, names: &[&str]) -> Option<Vec<Template>> {
        let is = |call: &&Call| names.iter().any(|name| call[0] == name.as_bytes());
        let call = self.run.calls.iter().find(is)?;
        Some(call[1..].iter().map(|word| (self.template)(word)).collect())
    }

    fn stock(&mut self) -> Option<Template> {
        let taken = self.run.calls.iter().find_map(deduction);
        if let Some(taken) = &taken {
            if taken.field.is_some() {
                self.obstacles.push("keeps the stock in a field of a hash".into());
            }
            return Some((self.template)(taken.key));
        }
        let read = self.first(&["GET", "HGET"])?.into_iter().next();
        let (key, field) = self.run.planted.first()?;
        if field.is_some() {
            self.obstacles.push("keeps the stock in a field of a hash".into());
        }
        read.filter(|read| *read == (self.template)(key))
    }

    fn units(&self) -> Option<Slot> {
        let taken = self.run.calls.iter().find_map(deduction)?;
        (self.template)(&taken.units).slot()
    }

    fn buyers(&mut self, stock: &Template, roles: &Roles) -> (Option<Template>, Option<Slot>) {
        let user = roles.slot("user");
        for names in [&["SADD"][..], &["SISMEMBER", "SMISMEMBER"]] {
            if let Some(words) = self.first(names)
                && let [key, member, ..] = words.as_slice()
                && let Some(member) = user.or(member.slot())
                // What names the stock is the voucher, whatever it is called.
                && (stock.slot().is_some() || stock.slots().all(|slot| slot != member))
            {
                if key == stock {
                    self.obstacles.push("has one name for the stock and the buyers".into());
                }
                return (Some(key.clone()), Some(member));
            }
        }
        if let Some(key) = roles.key("buyers") {
            return (Some(alone(key)), user);
        }
        let fields = ["HSETNX", "HSET", "HINCRBY", "HEXISTS", "HGET"];
        if let Some((_, field)) = self.apart_from(stock, &fields) {
            self.obstacles.push("remembers buyers in a hash, not in a set".into());
            return (None, user.or(field.and_then(|field| field.slot())));
        }
        let keys = ["SET", "SETNX", "SETEX", "EXISTS", "GET", "INCR"];
        if let Some((key, _)) = self.apart_from(stock, &keys) {
            self.obstacles.push("remembers every buyer in a key of their own, not in a set".into());
            let user = user.or_else(|| key.slots().find(|slot| !stock.slots().any(|s| s == *slot)));
            return (None, user);
        }
        self.obstacles.push("remembers no buyers".into());
        (None, user)
    }

    /// The first two words of the first call of one of these names on another key than the stock.
    fn apart_from(&self, stock: &Template, names: &[&str]) -> Option<(Template, Option<Template>)> {
        let is = |call: &&Call| names.iter().any(|name| call[0] == name.as_bytes());
        let words = |call: &Call| {
            let word = |at: usize| call.get(at).map(|word| (self.template)(word));
            Some((word(1)?, word(2)))
        };
        let calls = self.run.calls.iter().filter(is);
        calls.filter_map(words).find(|(key, _)| key != stock)
    }

    /// The entry of an order, when it is three fields with what the call was given: the stream,
    /// and the fields with their slots.
    fn orders(
        &mut self,
        user: Option<Slot>,
        roles: &Roles,
    ) -> Option<(Template, Vec<(String, Slot)>)> {
        let words = self.first(&["XADD"])?;
        let (stream, rest) = words.split_first()?;
        let (id, rest) = rest.split_first()?;
        if id.constant() != Some(b"*") || rest.len() != 6 {
            return None;
        }
        let pair = |pair: &[Template]| {
            let name = String::from_utf8(pair.first()?.constant()?.to_vec()).ok()?;
            Some((name, pair.get(1)?.slot()?))
        };
        let pairs: Vec<_> = rest.chunks(2).map(pair).collect::<Option<_>>()?;
        let has_user = pairs.iter().any(|(_, slot)| Some(*slot) == user.or(roles.slot("user")));
        has_user.then(|| (stream.clone(), pairs))
    }

    fn voucher_and_order(
        &self,
        stock: &Template,
        user: Option<Slot>,
        orders: Option<(Template, Vec<(String, Slot)>)>,
        roles: &Roles,
        slots: &[Slot],
    ) -> (Option<Slot>, Option<Slot>, Option<Orders>) {
        let is_key = |slot: Slot| stock.slot() == Some(slot);
        let in_stock = stock.slots().find(|slot| Some(*slot) != user && !is_key(*slot));
        let mut voucher = roles.slot("voucher").or(in_stock);
        let mut order = roles.slot("order");
        let Some((stream, mut pairs)) = orders else {
            let free = |slot: &&Slot| {
                matches!(slot, Slot::Arg(_))
                    && ![voucher, user, self.units()].contains(&Some(**slot))
            };
            // It is written nowhere, so it is only a guess, and does no harm.
            let rest: Vec<_> = slots.iter().filter(free).copied().collect();
            let usual = slots.iter().all(|slot| matches!(slot, Slot::Arg(_))) && slots.len() == 3;
            let last = rest.first().filter(|_| usual && rest.len() == 1);
            return (voucher, order.or(last.copied()), None);
        };
        let position = pairs.iter().position(|(_, slot)| Some(*slot) == user).unwrap_or(0);
        let of_user = pairs.remove(position);
        let names_an_order = |name: &str| {
            let name = name.to_lowercase();
            name.contains("order") || name == "id"
        };
        let is_order = |(name, slot): &(String, Slot)| {
            order.map_or_else(
                || voucher.map_or_else(|| names_an_order(name), |voucher| *slot != voucher),
                |order| *slot == order,
            )
        };
        let at = pairs.iter().position(is_order).unwrap_or(1);
        let of_order = pairs.remove(at);
        let of_voucher = pairs.remove(0);
        voucher = voucher.or(Some(of_voucher.1));
        order = order.or(Some(of_order.1));
        let sound = voucher == Some(of_voucher.1) && order == Some(of_order.1);
        let fields = [of_user.0, of_voucher.0, of_order.0];
        (voucher, order, sound.then_some(Orders { stream, fields }))
    }

    /// Writes that are none of the sale itself.
    fn extras(
        &mut self,
        stock: &Template,
        buyers: Option<&Template>,
        orders: Option<&Orders>,
    ) -> Vec<Vec<Template>> {
        const READS: [&str; 16] = [
            "GET",
            "MGET",
            "EXISTS",
            "SISMEMBER",
            "SMISMEMBER",
            "SCARD",
            "SMEMBERS",
            "HGET",
            "HEXISTS",
            "HGETALL",
            "HMGET",
            "TTL",
            "PTTL",
            "TYPE",
            "TIME",
            "XLEN",
        ];
        let mut extras = Vec::new();
        // The step that failed is none to repeat.
        let fails = usize::from(self.run.reply.is_error());
        let done = self.run.calls.len().saturating_sub(fails);
        for call in &self.run.calls[..done] {
            let words: Vec<_> = call.iter().map(|word| (self.template)(word)).collect();
            let name = String::from_utf8_lossy(&call[0]);
            let key = words.get(1);
            let of_sale = deduction(call).is_some_and(|_| key == Some(stock))
                || (name == "SADD" && words.len() == 3 && key == buyers && buyers.is_some())
                || (name == "XADD" && orders.is_some_and(|orders| key == Some(&orders.stream)));
            if !of_sale && !READS.contains(&name.as_ref()) {
                extras.push(words);
            }
        }
        let calls_time = self.run.calls.iter().any(|call| call[0] == b"TIME");
        let of_stock = |word: &Template| {
            word.constant().is_some_and(|text| text.windows(6).any(|part| part == b"899999"))
        };
        if !extras.is_empty() && (calls_time || extras.iter().flatten().any(of_stock)) {
            self.obstacles
                .push("writes the server's time, or the units left, beside the sale".into());
        }
        extras
    }
}
