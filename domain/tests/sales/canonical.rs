//! One form of all states that differ in names only: users, order ids and references are alike.
//! Only the user and the payment of a released order matter.

use crate::actions::Late;
use crate::state::{State, Told};
use crate::world::{ORDERS, REFERENCES, USERS, World};
use domain::book::{Entry, Reason, Spans, State as OrderState};
use domain::payments::Payment;
use domain::sale::Units;

/// How names change. Of references there are two.
#[derive(Clone, Copy)]
struct Renaming {
    users: bool,
    references: bool,
    /// Payments matter: then it does, whether a released order was sold.
    pays: bool,
}

fn renamings(pays: bool) -> [Renaming; 4] {
    let all = [(false, false), (true, false), (false, true), (true, true)];
    all.map(|(users, references)| Renaming { users, references, pays })
}

impl Renaming {
    fn user(self, user: u8) -> u8 {
        if self.users { 1 - user } else { user }
    }

    fn entry(self, entry: Entry<u8>) -> Entry<u8> {
        let reference = entry.reference.map(|it| if self.references { 1 - it } else { it });
        let entry = Entry { user: self.user(entry.user), reference, ..entry };
        if !entry.state.is_released() {
            return entry;
        }
        let state = released(entry.state);
        let was = if self.pays { entry.was } else { Some(OrderState::Held) };
        let (units, refunded) = (Units::ONE, Spans::NONE);
        Entry { state, units, asked: units, was, refunded, ..entry }
    }

    fn payments(self, payments: Payments) -> Payments {
        let [one, two] = payments;
        if self.references { [two, one] } else { [one, two] }
    }

    fn late(self, late: Late) -> Late {
        Late { user: self.user(late.user), ..late }
    }
}

/// The same with the names that there are.
pub fn plain(state: &State, pays: bool) -> State {
    renamed(state, renamings(pays)[0], [0, 1, 2])
}

pub fn canonical(state: &State, pays: bool) -> State {
    let has_reference = |world: &World| {
        world.book.iter().flatten().any(|it| it.reference.is_some())
            || world.payments != [None; REFERENCES]
    };
    let references =
        has_reference(&state.world) || state.replica.as_deref().is_some_and(has_reference);
    let renamings = renamings(pays).into_iter().filter(|it| references || !it.references);
    let forms = renamings.map(|renaming| {
        let mut ids = [0_u8, 1, 2].map(|id| (key(state, renaming, id), id));
        ids.sort_unstable();
        let users = [0, 1].map(|user| users_key(state, usize::from(renaming.user(user))));
        (ids.map(|(key, _)| key), users, ids.map(|(_, id)| id), renaming)
    });
    match forms.min_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1))) {
        Some((_, _, ids, renaming)) => renamed(state, renaming, ids),
        None => state.clone(),
    }
}

/// Everything about a user that has no order id in it.
fn users_key(state: &State, user: usize) -> (bool, bool) {
    (state.world.buyers[user], state.replica.as_ref().is_some_and(|world| world.buyers[user]))
}

type Key = (u128, Told);
type Payments = [Option<Payment<u8>>; REFERENCES];

/// Everything about an order. Ids that nothing is known of come last.
fn key(state: &State, renaming: Renaming, id: u8) -> Key {
    let index = usize::from(id);
    let mut bits = Bits(0);
    bits.world(&state.world, renaming, id);
    if let Some(replica) = &state.replica {
        bits.world(replica, renaming, id);
    }
    for late in state.late {
        match late[index].map(|late| renaming.late(late)) {
            None => bits.add(-1, 7),
            Some(late) => {
                bits.add(i64::from(1 + late.units * 4 + late.sale * 16), 6);
                bits.add(late.user.into(), 1);
            }
        }
    }
    bits.add(state.promised[index].map_or(7, |it| order_state(released(it))), 3);
    (bits.0, state.told[index])
}

/// All releases are alike.
fn released(state: OrderState) -> OrderState {
    if state.is_released() { OrderState::Released(Reason::Cancelled) } else { state }
}

fn order_state(state: OrderState) -> i64 {
    match state {
        OrderState::Held => 0,
        OrderState::Sold => 1,
        OrderState::Released(_) => 2,
        OrderState::Waiting => 3,
    }
}

struct Bits(u128);

impl Bits {
    fn add(&mut self, value: i64, bits: u32) {
        self.0 = (self.0 << bits) | (value as u128 & ((1 << bits) - 1));
    }

    fn world(&mut self, world: &World, renaming: Renaming, id: u8) {
        match world.entry(id).map(|entry| renaming.entry(entry)) {
            None => self.add(-1, 15),
            Some(entry) => {
                self.add(order_state(entry.state), 3);
                self.add(entry.units.get(), 2);
                self.add(entry.deadline % crate::world::NOW, 3);
                self.add(entry.reference.map_or(0, |it| i64::from(it) + 1), 2);
                self.add(entry.user.into(), 2);
                self.add(entry.asked.get(), 2);
                self.add((entry.was == Some(OrderState::Sold)).into(), 1);
            }
        }
        self.add(world.queue[usize::from(id)].map_or(0, i64::from), 3);
        for payment in renaming.payments(world.payments) {
            let of = payment.filter(|payment| payment.id == id);
            self.add(of.map_or(0, |it| 1 + it.outcome as i64), 3);
            self.add(of.map_or(0, |it| it.sale.get()), 2);
            self.add(of.and_then(|it| it.user).map_or(2, |it| renaming.user(it).into()), 2);
        }
        self.add(world.outside[usize::from(id)].map_or(0, |units| units.get()), 2);
        for user in 0..USERS {
            let has = world.units[usize::from(renaming.user(user as u8))];
            self.add(has.is_some_and(|has| has.latest == id).into(), 1);
        }
    }
}

/// The state with `ids[n]` named `n`.
fn renamed(state: &State, renaming: Renaming, ids: [u8; ORDERS]) -> State {
    fn sorted<T: Copy>(of: [T; ORDERS], ids: [u8; ORDERS]) -> [T; ORDERS] {
        ids.map(|id| of[usize::from(id)])
    }
    let world = |world: &World| {
        let [one, two] = [0, 1].map(|user| usize::from(renaming.user(user)));
        let new_id = |old| ids.iter().position(|id| *id == old).unwrap_or(0) as u8;
        let mut units = [world.units[one], world.units[two]];
        for has in units.iter_mut().flatten() {
            has.latest = new_id(has.latest);
        }
        let mut world = World {
            buyers: [world.buyers[one], world.buyers[two]],
            units,
            book: sorted(world.book, ids).map(|it| it.map(|entry| renaming.entry(entry))),
            holds: sorted(world.holds, ids),
            queue: sorted(world.queue, ids),
            payments: renaming.payments(world.payments).map(|it| {
                let user = it.and_then(|it| it.user).map(|user| renaming.user(user));
                it.map(|it| Payment { user, id: new_id(it.id), ..it })
            }),
            outside: sorted(world.outside, ids),
            ..*world
        };
        world.renumber();
        world
    };
    State {
        world: world(&state.world),
        replica: state.replica.as_ref().map(|replica| Box::new(world(replica))),
        late: state.late.map(|it| sorted(it, ids).map(|it| it.map(|late| renaming.late(late)))),
        told: sorted(state.told, ids),
        promised: sorted(state.promised, ids).map(|it| it.map(released)),
        ..state.clone()
    }
}
