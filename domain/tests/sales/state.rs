//! What is remembered of a course: the keys, late entries, answers, a replica.

use crate::actions::{Action, Answer, Late, Named, Run};
use crate::model::Bounds;
use crate::world::{Error, ORDERS, World};
use domain::book::{Entry, State as OrderState};
use domain::confirm::Confirmation;
use domain::orders::{Cancel, Cancellation};
use domain::plan::Order;
use domain::sale::TryOutcome;

/// The last answers about an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Told {
    pub outcome: Option<u8>,
    pub confirmation: Option<u8>,
    pub cancellation: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub world: World,
    /// How many sales were created.
    pub created: u8,
    /// Entries of tries whose orders the keys don't know: of the unmanaged voucher, and of a sale
    /// that is over or was lost.
    pub late: [[Option<Late>; ORDERS]; 2],
    pub told: [Told; ORDERS],
    /// What a failover loses everything after.
    pub replica: Option<Box<World>>,
    /// The state of an order of which a client was told, and that all replicas know it.
    pub promised: [Option<OrderState>; ORDERS],
    pub has_failed: bool,
    pub bad: Option<&'static str>,
}

impl State {
    pub fn of(world: World) -> Self {
        Self {
            world,
            created: u8::from(world.rules.is_some()),
            late: [[None; ORDERS]; 2],
            told: [Told::default(); ORDERS],
            replica: None,
            promised: [None; ORDERS],
            has_failed: false,
            bad: world.check().err(),
        }
    }
}

impl State {
    /// What outlives the keys, and what was answered.
    pub fn remember(
        &mut self,
        bounds: &Bounds,
        action: Action,
        answer: &Result<Answer, Error>,
        run: &Run<'_>,
        last: &State,
    ) {
        match action {
            Action::Create | Action::Adopt if answer.is_ok() => self.created += 1,
            Action::Try(order) | Action::TryFor(order, _)
                if bounds.sales > 0 && self.is_sold_unmanaged(&order, run) =>
            {
                let late = Late { user: order.user, units: order.units.get() as u8, sale: 0 };
                self.late[0][usize::from(order.id)] = Some(late);
            }
            Action::RejectLate(0, id) => self.late[0][usize::from(id)] = None,
            Action::Drop { .. } if last.world.rules.is_some() && self.world.rules.is_none() => {
                if last.created < bounds.sales {
                    let (book, sale) = (&last.world.book, last.world.sale());
                    self.late[1] =
                        book.map(|it| it.filter(had_units).map(|it| Late::of(&it, sale)));
                }
                self.told = Default::default();
                self.promised = Default::default();
            }
            _ => {}
        }
        if bounds.told {
            self.tell(&action, answer);
        }
    }

    fn is_sold_unmanaged(&self, order: &Order<u8>, run: &Run<'_>) -> bool {
        self.world.rules.is_none() && run.written.ordered[usize::from(order.id)] > 0
    }

    /// Answers to repeats change along the tables only.
    fn tell(&mut self, action: &Action, answer: &Result<Answer, Error>) {
        let (Some(id), Ok(answer)) = (named(action), answer) else { return };
        if self.world.book[id].is_none() {
            return;
        }
        let told = &mut self.told[id];
        let (last, now, follows): (_, _, fn(u8, u8) -> bool) = match answer {
            Answer::Try(it)
                if it.is_repeat
                    || matches!(it.outcome, TryOutcome::Accepted | TryOutcome::Waiting) =>
            {
                (&mut told.outcome, it.outcome as u8, |last, now| {
                    // Waiting, accepted, released.
                    let rank = |code: u8| [6, 0, 5].iter().position(|it| *it == code);
                    rank(last) <= rank(now)
                })
            }
            Answer::Confirm(it) if *it != Confirmation::NoSuchOrder => {
                // Payments are on record: see the properties.
                let Action::Confirm(_, None) = action else { return };
                let code = *it as u8;
                (&mut told.confirmation, code, |last, now| now != 1 && now >= last)
            }
            Answer::Cancel(it @ (Cancellation::Released | Cancellation::WasReleased)) => {
                let Action::Cancel(_, Cancel { kept: None, .. }) = action else { return };
                (&mut told.cancellation, *it as u8, |_, now| now == 2)
            }
            _ => return,
        };
        if last.is_some_and(|last| !follows(last, now)) {
            self.bad = Some("a repeat is answered otherwise");
        }
        *last = Some(now);
    }

    /// The client waits until the replicas have what its command wrote. It thinks that they know
    /// what it was told.
    pub fn wait(&mut self, action: &Action, answer: &Result<Answer, Error>, wrote: bool) {
        if wrote {
            self.replica = None;
            self.promised = Default::default();
        } else if let Some(id) = named(action) {
            let is_told = match answer {
                Ok(Answer::Try(answer)) => answer.is_repeat,
                Ok(Answer::Confirm(answer)) => *answer != Confirmation::NoSuchOrder,
                Ok(Answer::Cancel(answer)) => *answer != Cancellation::NoSuchOrder,
                _ => false,
            };
            let state = self.world.book[id].map(|entry| entry.state);
            self.promised[id] = if is_told { state } else { self.promised[id] };
        }
    }

    pub fn fail_over(&mut self, tears: bool) {
        let Some(mut replica) = self.replica.take() else { return };
        if tears {
            replica.stock = self.world.stock;
        }
        let lost = std::mem::replace(&mut self.world, *replica);
        for id in 0..ORDERS {
            let known = replica.book[id].filter(had_units).map(|it| (it.user, it.units));
            let entry = lost.book[id].filter(had_units);
            let entry = entry.filter(|it| known != Some((it.user, it.units)));
            let late = entry.map(|it| Late::of(&it, lost.sale()));
            self.late[1][id] = late.or(self.late[1][id]);
            let state = replica.book[id].map(|entry| entry.state);
            let is_kept = |it: OrderState| match state {
                Some(state) => it == state || it.is_released() && state.is_released(),
                None => false,
            };
            if self.promised[id].is_some_and(|it| !is_kept(it)) {
                self.bad = Some("lost although replicated");
            }
        }
        self.has_failed = true;
        self.told = Default::default();
        self.promised = Default::default();
        self.bad = self.bad.or(self.world.check().err());
    }
}

/// Is there an entry of the order in a stream?
fn had_units(entry: &Entry<u8>) -> bool {
    entry.state != OrderState::Waiting && entry.was != Some(OrderState::Waiting)
}

fn named(action: &Action) -> Option<usize> {
    match action {
        Action::Try(order) | Action::TryFor(order, _) | Action::Wait(order) => {
            Some(order.id.into())
        }
        Action::Confirm(Named { id, .. }, _)
        | Action::Paid(Named { id, .. }, ..)
        | Action::Refund(Named { id, .. }, _)
        | Action::Extend(Named { id, .. }, _)
        | Action::Cancel(Named { id, .. }, ..) => Some((*id).into()),
        _ => None,
    }
}
