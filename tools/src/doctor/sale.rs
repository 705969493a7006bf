//! A script that takes units, as observed: which key is the stock, where it remembers buyers, what
//! it appends.

use domain::integer;

use crate::explore::{Effects, Run};
use crate::reading::{Reading, Try};
use crate::roles::Roles;
use crate::template::{Slot, Template};
use crate::trial::{Units, Window};
use crate::watch::{asks, looks, writes};
use crate::wire::Words;
use crate::world::{Cell, Cells, Kind};

/// A cell whose names are made of the call's arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub key: Template,
    pub kind: Kind,
    pub item: Template,
}

#[derive(Clone)]
pub struct Sale {
    pub slots: Vec<Slot>,
    pub stock: Place,
    /// The slot with the number of units.
    pub units: Option<Slot>,
    /// Where buyers are remembered.
    pub marks: Vec<Place>,
    /// The stream of orders, and its fields.
    pub orders: Option<(Template, Vec<(String, Template)>)>,
    /// What else must exist for a sale.
    pub guards: Vec<(Place, Template)>,
    /// Its arguments for begin and end.
    pub window: Window,
    /// Everything that it reads, except the stock.
    pub looks: Vec<Place>,
    /// Its writing calls besides those of the sale.
    pub extras: Vec<Vec<Template>>,
    pub effects: Effects,
    pub user: Option<Slot>,
    pub voucher: Option<Slot>,
    pub order: Option<Slot>,
}

impl Place {
    fn of(cell: &Cell, template: &impl Fn(&[u8]) -> Template) -> Self {
        let item = if matches!(cell.kind, Kind::Stream) { &b""[..] } else { &cell.item };
        Self { key: template(&cell.key), kind: cell.kind, item: template(item) }
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.key.slots().chain(self.item.slots())
    }

    pub fn cell(&self, value: &impl Fn(Slot) -> Vec<u8>) -> Cell {
        Cell { key: self.key.text(value), kind: self.kind, item: self.item.text(value) }
    }

    pub fn shown(&self, name: &impl Fn(Slot) -> String) -> String {
        let key = self.key.shown(name);
        match self.kind {
            Kind::Hash => format!("{key}, field {}", self.item.shown(name)),
            _ => key,
        }
    }
}

impl Sale {
    /// Derived from the run that sold, the slot of the units, and the numbers that it only
    /// increments.
    pub fn of(
        run: &Run,
        slots: &[Slot],
        roles: &Roles,
        counted_units: Option<&Units>,
        counted: &[Cell],
    ) -> Option<Self> {
        let marked: Vec<Slot> =
            slots.iter().copied().filter(|slot| !run.plan.slots.contains_key(slot)).collect();
        let template = |text: &[u8]| Template::of(text, &marked);
        let effects = run.effects();
        let (stock, taken) = effects.taken.first()?;
        let is_mark = |slot: &&Slot| integer::parse(&slot.mark()) == Some(*taken);
        let known = counted_units.map(|units| units.slot);
        let units = roles.slot("units").or(known).or(marked.iter().find(is_mark).copied());
        let stock_place = Place::of(stock, &template);
        let mut guards = Vec::new();
        for (cell, value) in &run.plan.cells {
            if cell != stock {
                guards.push((Place::of(cell, &template), template(value)));
            }
        }
        let mut places = Vec::new();
        for look in run.seen.calls.iter().filter(|call| asks(call)).flat_map(looks) {
            let kind = look.kind.unwrap_or(Kind::Text);
            let cell = Cell { key: look.key, kind, item: look.item.unwrap_or_default() };
            let place = Place::of(&cell, &template);
            let is_other = cell != *stock && cell.key != b"" && !counted.contains(&cell);
            if is_other && !places.contains(&place) {
                places.push(place);
            }
        }
        let made = effects.made.iter().map(|(cell, _)| cell);
        let counted = effects.given.iter().map(|(cell, _)| cell);
        let marks: Vec<Place> = made
            .chain(counted)
            .map(|cell| Place::of(cell, &template))
            .filter(|place| place.kind != Kind::List)
            // A cell that is only written, or is the same for all users, can't be the mark of a
            // buyer.
            .filter(|place| place.slots().any(|slot| stock_place.slots().all(|own| own != slot)))
            .filter(|place| places.iter().any(|look| look.key == place.key))
            .collect();
        let orders = orders(&run.seen.calls, &template);
        let mut sale = Self {
            slots: slots.to_vec(),
            units,
            marks,
            orders,
            guards,
            window: Window::default(),
            looks: places,
            extras: Vec::new(),
            user: roles.slot("user"),
            voucher: roles.slot("voucher"),
            order: roles.slot("order"),
            stock: stock_place,
            effects,
        };
        sale.name_slots();
        sale.extras = sale.extras(&run.seen.calls, counted_units, &template);
        Some(sale)
    }

    /// Finds the roles of slots: the voucher is in the stock's name, the user in a buyer's mark but
    /// not in the stock's name, and the order id is a remaining field of the entry.
    fn name_slots(&mut self) {
        let is_arg = |slot: &Slot| !slot.is_key();
        let of_stock: Vec<Slot> = self.stock.slots().collect();
        self.voucher = self.voucher.or_else(|| of_stock.iter().copied().find(is_arg));
        let whole = self.marks.iter().chain(&self.looks).map(|place| &place.item);
        let whole = whole.filter_map(Template::slot).collect::<Vec<_>>();
        let people: Vec<Slot> = self.people();
        let user = whole
            .into_iter()
            .chain(people)
            .find(|slot| is_arg(slot) && !of_stock.contains(slot) && Some(*slot) != self.units);
        self.user = self.user.or(user);
        let Some((_, fields)) = &self.orders else { return };
        let free =
            |slot: Slot, known: [Option<Slot>; 3]| (!known.contains(&Some(slot))).then_some(slot);
        let of_order = |name: &str| name == "id" || name.to_lowercase().contains("order");
        let named = |wanted: bool| fields.iter().filter(move |(name, _)| of_order(name) == wanted);
        if self.order.is_none() {
            let known = [self.user, self.voucher, self.units];
            let slot = |(_, value): &(String, Template)| free(value.slot()?, known);
            let last = || fields.iter().filter_map(slot).next_back();
            self.order = named(true).find_map(slot).or_else(|| self.voucher.and_then(|_| last()));
        }
        if self.voucher.is_none() {
            let known = [self.user, self.order, self.units];
            self.voucher = named(false).find_map(|(_, value)| free(value.slot()?, known));
        }
    }

    /// Arguments in the names of buyers' marks and of other cells that it reads, but not in the
    /// stock's.
    pub fn people(&self) -> Vec<Slot> {
        let of_stock: Vec<Slot> = self.stock.slots().collect();
        let mut people = Vec::new();
        for slot in self.marks.iter().chain(&self.looks).flat_map(Place::slots) {
            let open = !slot.is_key() && !of_stock.contains(&slot);
            if open && Some(slot) != self.units && !people.contains(&slot) {
                people.push(slot);
            }
        }
        people
    }

    fn extras(
        &self,
        calls: &[Words],
        units: Option<&Units>,
        template: &impl Fn(&[u8]) -> Template,
    ) -> Vec<Vec<Template>> {
        let buyers = self.buyers().map(|place| &place.key);
        let mut extras = Vec::new();
        for (number, call) in calls.iter().enumerate().filter(|(_, call)| writes(call)) {
            let word = |(place, word): (usize, &Vec<u8>)| {
                let units = units.and_then(|units| units.template(number, place, word));
                units.unwrap_or_else(|| template(word))
            };
            let words: Vec<Template> = call.iter().enumerate().map(word).collect();
            let (name, key) = (call[0].as_slice(), words.get(1));
            let stock_writes: [&[u8]; 7] =
                [b"DECR", b"DECRBY", b"INCRBY", b"SET", b"HINCRBY", b"HSET", b"GETSET"];
            let of_sale = key == Some(&self.stock.key) && stock_writes.contains(&name)
                || name == b"SADD" && words.len() == 3 && key == buyers
                || name == b"XADD" && self.fields().is_some();
            if !of_sale {
                extras.push(words);
            }
        }
        extras
    }

    /// The set of buyers, if there is one and its members are users.
    pub fn buyers(&self) -> Option<&Place> {
        let is_set = |place: &&Place| place.kind == Kind::Set && place.item.slot() == self.user;
        self.marks.iter().find(is_set).filter(|_| self.user.is_some())
    }

    /// The stream and the names of its fields for user, voucher and order id, if it has no other
    /// field.
    pub fn fields(&self) -> Option<(&Template, [String; 3])> {
        let (stream, fields) = self.orders.as_ref()?;
        let of = |slot: Option<Slot>| {
            let is = |(_, value): &&(String, Template)| slot.is_some() && value.slot() == slot;
            fields.iter().find(is).map(|(name, _)| name.clone())
        };
        let names = [of(self.user)?, of(self.voucher)?, of(self.order)?];
        (fields.len() == 3).then_some((stream, names))
    }

    /// The sale with its set of buyers named after the voucher instead of the user.
    pub fn with_buyers_of_voucher(&self) -> Self {
        let (Some(user), Some(voucher)) = (self.user, self.voucher) else { return self.clone() };
        let mut other = self.clone();
        for place in other.marks.iter_mut().chain(&mut other.looks) {
            if place.kind == Kind::Set {
                place.key = place.key.with(user, voucher);
            }
        }
        other
    }

    pub fn stock_cell(&self, reading: &Reading, a_try: &Try) -> Cell {
        self.stock.cell(&|slot| reading.value(slot, a_try, false))
    }

    /// What must exist for this try besides the stock.
    pub fn guard_cells(&self, reading: &Reading, a_try: &Try) -> Cells {
        let value = |slot: Slot| reading.value(slot, a_try, false);
        self.guards.iter().map(|(place, held)| (place.cell(&value), held.text(&value))).collect()
    }

    /// The name of a slot in a report.
    pub fn name(&self, slot: Slot) -> String {
        let key = |place: Option<&Place>| place.and_then(|place| place.key.slot());
        // A slot that is only in a key's name may be a request as well as a user.
        let member = |place: &Place| {
            matches!(place.kind, Kind::Set | Kind::Hash | Kind::Sorted)
                && place.item.slot() == self.user
        };
        let user = self.user.filter(|_| self.marks.iter().chain(&self.looks).any(member));
        let roles = [
            (self.voucher, "voucher"),
            (user, "user"),
            (self.order, "order"),
            (self.units, "units"),
            (key(Some(&self.stock)), "stock"),
            (key(self.buyers()), "buyers"),
            (self.orders.as_ref().and_then(|(stream, _)| stream.slot()), "stream"),
        ];
        let role = roles.iter().find(|(role, _)| *role == Some(slot));
        role.map_or_else(|| slot.to_string(), |(_, name)| (*name).to_owned())
    }
}

/// The stream and the fields of the first entry that it appends.
fn orders(
    calls: &[Words],
    template: &impl Fn(&[u8]) -> Template,
) -> Option<(Template, Vec<(String, Template)>)> {
    let call = calls.iter().find(|call| call[0] == b"XADD")?;
    let star = call.iter().position(|word| word == b"*")?;
    let pairs = call[star + 1..].chunks(2).filter(|pair| pair.len() == 2);
    let pair =
        |pair: &[Vec<u8>]| (String::from_utf8_lossy(&pair[0]).into_owned(), template(&pair[1]));
    Some((template(&call[1]), pairs.map(pair).collect()))
}
