//! What is explored: several models, each to its end.

use crate::actions::{Action, Named, keeping};
use crate::model::{Bounds, Move};
use crate::world::{NOW, World};
use domain::book::State;
use domain::orders::Cancel;
use domain::plan::Order;
use domain::rules::{Rules, SaleId};
use domain::sale::Units;
use domain::sales::Restock;

pub fn order(user: u8, id: u8, units: i64) -> Order<u8> {
    Order { user, id, units: Units::new(units).expect("one or more") }
}

pub fn sale() -> Rules {
    let sale = SaleId::created_at(1);
    Rules { total: 2, begin: None, end: None, limit: 2, hold: Some(1), sale }
}

pub fn created(rules: Rules) -> World {
    let (stock, last) = (Some(rules.total), Some(rules.sale));
    World { rules: Some(rules), stock, last, ..World::EMPTY }
}

/// Requests about orders with these ids, of sales by number.
struct Requests<'r> {
    ids: &'r [u8],
    units: &'r [i64],
    references: &'r [Option<u8>],
    sales: &'r [Option<u8>],
    extends: bool,
    /// Orders of two units may keep one.
    keeps: bool,
}

impl Requests<'_> {
    fn all(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (user, id) in self.ids.iter().flat_map(|id| [(0, *id), (1, *id)]) {
            actions.extend(self.units.iter().map(|units| Action::Try(order(user, id, *units))));
            for sale in self.sales.iter().copied() {
                let named = Named { user, id, sale };
                let confirm = |reference: &Option<u8>| Action::Confirm(named, *reference);
                actions.extend(self.references.iter().map(confirm));
                let only = [None, Some(State::Held), Some(State::Sold)];
                let only = only.map(|only| Cancel { only, ..Cancel::ALL });
                actions.extend(only.map(|cancel| Action::Cancel(named, cancel)));
                let kept = Some(Units::ONE).filter(|_| self.keeps);
                actions.extend(kept.map(|_| Action::Cancel(named, keeping(kept))));
                actions.extend(self.extends.then_some(Action::Extend(named, 2)));
            }
        }
        for id in self.ids {
            actions.extend([Action::Reject(*id), Action::Timer(*id)]);
        }
        actions.push(Action::Tick);
        actions
    }
}

/// Two tries of one command, with all units; of users who are alike.
fn pairs(ids: &[u8], units: &[i64]) -> Vec<Action> {
    let tries = |users: &'static [u8]| {
        let ids = ids.iter().flat_map(move |id| users.iter().map(move |user| (*user, *id)));
        let all = ids.flat_map(|(user, id)| units.iter().map(move |n| order(user, id, *n)));
        all.collect::<Vec<_>>()
    };
    let both = tries(&[0, 1]);
    let with = |first: Order<u8>| both.iter().map(move |second| Action::Pair(first, *second));
    tries(&[0, 1]).into_iter().flat_map(with).collect()
}

fn at_once(actions: Vec<Action>) -> Vec<Move> {
    actions.into_iter().map(|action| (action, false)).collect()
}

pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Three orders, or two where every mutant of the decisions is explored. In a queue, three: one
/// overtakes another only where both wait.
fn ids() -> &'static [u8] {
    if is_set("BRIEF") { &[0, 1] } else { &[0, 1, 2] }
}

/// Two orders, where other things change as well.
fn two_ids() -> &'static [u8] {
    if is_set("SOAK") { &[0, 1, 2] } else { &[0, 1] }
}

/// Tries for one unit or two, without references and other sales.
fn usual() -> Requests<'static> {
    Requests {
        ids: ids(),
        units: &[1, 2],
        references: &[None],
        sales: &[None],
        extends: false,
        keeps: false,
    }
}

fn of(name: &'static str, actions: Vec<Action>) -> Bounds {
    Bounds {
        name,
        worlds: vec![created(sale())],
        moves: at_once(actions),
        rules: sale(),
        sales: 1,
        total_max: 2,
        told: false,
        promotes: 1,
        faults: false,
        symmetry: true,
    }
}

/// Requests of every kind, and answers to repeats.
pub fn one_sale() -> Bounds {
    let references: &[_] = if is_set("SOAK") { &[None, Some(0)] } else { &[None] };
    let requests = Requests { references, extends: true, keeps: true, ..usual() };
    let mut actions = requests.all();
    actions.extend(ids().iter().map(|id| Action::RejectUnsold(*id)));
    Bounds { told: true, ..of("one sale", actions) }
}

/// Requests of every kind, payments with two references.
pub fn payments() -> Bounds {
    let requests =
        Requests { references: &[None, Some(0), Some(1)], extends: true, keeps: true, ..usual() };
    of("payments", requests.all())
}

/// Tries of one command.
pub fn batches() -> Bounds {
    let mut actions = usual().all();
    actions.extend(pairs(ids(), &[1, 2]));
    let worlds = vec![created(sale()), World { stock: Some(2), ..World::EMPTY }];
    Bounds { worlds, sales: 0, ..of("tries of one command", actions) }
}

/// Rules that change, and the end.
pub fn rules() -> Bounds {
    let requests = Requests { ids: two_ids(), references: &[None, Some(0)], ..usual() };
    let mut actions = requests.all();
    actions.extend([None, Some(0), Some(1)].map(Action::End));
    actions.extend([None, Some(1)].map(Action::Begin));
    actions.extend([1, 2].map(Action::Limit));
    actions.extend([None, Some(1)].map(Action::Hold));
    actions.extend([-1, 1].map(|delta| Action::Restock(Restock::By(delta))));
    actions.extend([1, 2].map(|total| Action::Restock(Restock::To(total))));
    actions.extend([false, true].map(|forced| Action::Drop { forced, sale: None }));
    Bounds { total_max: 3, ..of("rules that change", actions) }
}

/// A stock that is sold, adopted, dropped and created again, with late entries and commands.
pub fn two_sales() -> Bounds {
    let extends = is_set("SOAK");
    // With payments: see `payments_of_sales`.
    let references: &[_] = if extends { &[None, Some(0)] } else { &[None] };
    let sales: &[_] = &[None, Some(1)];
    let units: &[_] = if extends { &[1, 2] } else { &[1] };
    let requests = Requests { ids: &[0, 1], units, references, sales, extends, ..usual() };
    let mut actions = requests.all();
    for id in [0, 1] {
        actions.extend([Action::RejectLate(0, id), Action::RejectLate(1, id)]);
    }
    actions.extend([false, true].map(|forced| Action::Drop { forced, sale: None }));
    actions.extend([Action::Create, Action::Adopt, Action::SetStock(2)]);
    actions.push(Action::Drop { forced: true, sale: Some(1) });
    actions.extend([(0, 0), (1, 1)].map(|(user, id)| Action::TryFor(order(user, id, 1), 1)));
    let worlds = vec![World::EMPTY];
    Bounds { worlds, sales: 2, ..of("two sales", actions) }
}

/// Payments before, in and after two sales, also while memory is full, that persons refund, and
/// units outside of a sale.
pub fn payments_of_sales() -> Bounds {
    let sales = [None, Some(1), Some(2)];
    let named = [(0, 0), (1, 0)].into_iter();
    let named = named.flat_map(|(user, id)| sales.map(|sale| Named { user, id, sale }));
    let mut actions: Vec<_> = named
        .flat_map(|named| [Action::Confirm(named, Some(0)), Action::Refund(named, 0)])
        .collect();
    let other = Named { user: 0, id: 1, sale: None };
    actions.extend([Action::Confirm(other, Some(0)), Action::Confirm(other, Some(1))]);
    actions.extend([Action::Try(order(0, 0, 1)), Action::Cancel(other, keeping(None))]);
    actions.extend([Action::Try(order(0, 1, 1)), Action::Fill, Action::Tick]);
    actions.extend(
        [(-1, 0), (1, 0), (-2, 0)]
            .map(|(delta, order)| Action::Restock(Restock::For { delta, order })),
    );
    actions.extend([Action::Create, Action::Drop { forced: true, sale: None }]);
    let worlds = vec![World::EMPTY];
    Bounds { worlds, sales: 2, symmetry: false, ..of("payments of two sales", actions) }
}

/// What payments are for, and what becomes of units beside a return to the stock.
pub fn words() -> Bounds {
    let [ann, bob] = [(0, 0), (1, 1)].map(|(user, id)| Named { user, id, sale: None });
    let units = |units| order(0, 0, units).units;
    let mut actions = vec![Action::Try(order(0, 0, 2)), Action::Wait(order(1, 1, 1))];
    actions.extend([None, Some(0)].map(|reference| Action::Confirm(ann, reference)));
    actions.extend([1, 2, 3].map(|paid| Action::Paid(ann, 0, units(paid))));
    actions.extend([Action::Paid(ann, 1, units(2)), Action::Paid(bob, 0, units(1))]);
    actions.push(Action::Refund(ann, 0));
    for kept in [None, Some(Units::ONE)] {
        for [norestock, refunded] in [[false, false], [true, false], [false, true], [true, true]] {
            let cancel = Cancel { kept, norestock, refunded, ..Cancel::ALL };
            actions.push(Action::Cancel(ann, cancel));
        }
    }
    for reference in [Some(0), Some(1)] {
        let cancel = Cancel { refunded: true, reference, ..Cancel::ALL };
        actions.push(Action::Cancel(ann, cancel));
    }
    let only = Some(State::Held);
    actions.push(Action::Cancel(bob, Cancel { only, norestock: true, ..keeping(None) }));
    actions.extend([Action::Promote, Action::Timer(0), Action::Tick, Action::Fill]);
    actions.extend([Action::Hold(None), Action::Restock(Restock::By(1))]);
    if is_set("SOAK") {
        actions.extend([Action::Drop { forced: true, sale: None }, Action::Create]);
        actions.extend([Action::Lag, Action::Failover]);
        actions.push(Action::Paid(ann, 1, units(1)));
    }
    Bounds { sales: 2, symmetry: false, ..of("words", actions) }
}

/// One snapshot at any moment, and one failover to it.
pub fn failover() -> Bounds {
    let ids: &[_] = if is_set("BRIEF") { &[0] } else { &[0, 1] };
    let (references, keeps) = (&[None, Some(0)], is_set("SOAK"));
    let requests = Requests { ids, references, extends: true, keeps, ..usual() };
    let mut actions = requests.all();
    if is_set("SOAK") {
        actions.extend([Action::Drop { forced: true, sale: None }, Action::Create]);
    }
    let waiting = |action: &Action| match action {
        Action::Try(_) | Action::Confirm(..) | Action::Cancel(..) => Some((*action, true)),
        _ => None,
    };
    let waiting: Vec<_> = actions.iter().filter_map(waiting).collect();
    let mut bounds = Bounds { sales: 2, ..of("a failover", actions) };
    bounds.moves.extend(waiting);
    bounds.moves.extend(at_once(vec![
        Action::RejectLate(1, 0),
        Action::RejectLate(1, 1),
        Action::Lag,
        Action::Failover,
    ]));
    bounds
}

/// Requests that wait where the usual ones lose, and what there is to know of a queue.
fn waiting(requests: Requests<'_>) -> Vec<Action> {
    let mut actions = requests.all();
    // As for orders that are held.
    actions.retain(|action| {
        !matches!(action, Action::Cancel(_, Cancel { only: Some(State::Sold), .. }))
    });
    let wait = |action: &Action| match action {
        Action::Try(order) => Some(Action::Wait(*order)),
        _ => None,
    };
    let waits: Vec<_> = actions.iter().filter_map(wait).collect();
    actions.extend(waits);
    actions.push(Action::Promote);
    actions
}

/// Orders that wait for units that return and for new ones, until the sale ends.
pub fn queue() -> Bounds {
    let references = &[None, Some(0)];
    let mut actions = waiting(Requests { references, extends: true, keeps: true, ..usual() });
    actions.extend([None, Some(0), Some(1)].map(Action::End));
    actions.extend([None, Some(1)].map(Action::Hold));
    actions.extend([Restock::By(1), Restock::By(-1), Restock::To(2)].map(Action::Restock));
    actions.extend([false, true].map(|forced| Action::Drop { forced, sale: None }));
    Bounds { total_max: 3, ..of("a queue", actions) }
}

/// A stock that other clients write, while orders are sold, held and wait.
pub fn foreign() -> Bounds {
    let mut actions = waiting(Requests { keeps: true, ..usual() });
    let stocks = 0..=if is_set("BRIEF") { 2 } else { 3 };
    actions.extend(stocks.map(Action::Overwrite));
    actions.extend([Restock::By(1), Restock::By(-1)].map(Action::Restock));
    actions.extend([None, Some(1)].map(Action::Hold));
    Bounds { total_max: 3, ..of("a stock that others write", actions) }
}

/// The same without symmetry.
pub fn small_foreign() -> Bounds {
    Bounds { symmetry: false, ..foreign() }
}

/// Answers to repeats about orders that wait.
pub fn queue_told() -> Bounds {
    let mut actions = waiting(Requests { ids: &[0, 1], ..usual() });
    actions.extend([None, Some(0)].map(Action::End));
    Bounds { told: true, ..of("answers in a queue", actions) }
}

/// A little of a queue, without symmetry.
pub fn small_queue() -> Bounds {
    let mut actions = waiting(Requests { ids: &[0, 1, 2], keeps: true, ..usual() });
    actions.extend([Some(0), Some(1)].map(Action::End));
    actions.push(Action::Hold(None));
    actions.push(Action::Drop { forced: false, sale: None });
    let worlds = vec![created(Rules { total: 1, ..sale() }), created(sale())];
    Bounds { worlds, symmetry: false, ..of("planted in a queue", actions) }
}

/// Facts that err at any question, while orders are due.
pub fn faults() -> Bounds {
    let mut actions = faulty(ids());
    actions.push(Action::Drop { forced: true, sale: None });
    Bounds { faults: true, ..of("faults", actions) }
}

/// Requests whose questions fail.
fn faulty(ids: &[u8]) -> Vec<Action> {
    let units: &[_] = if is_set("SOAK") { &[1, 2] } else { &[1] };
    let references = &[None, Some(0)];
    let requests = Requests { ids, units, references, extends: true, ..usual() };
    let mut actions = requests.all();
    actions.extend(pairs(&[0, 1], &[1]));
    actions
}

/// Facts that err at any question about a sale that begins, ends and is followed by another.
pub fn faults_of_sales() -> Bounds {
    let mut actions = faulty(two_ids());
    actions.extend([Action::RejectLate(0, 0), Action::RejectLate(0, 1)]);
    actions.extend([Restock::By(1), Restock::By(-1), Restock::To(1)].map(Action::Restock));
    actions.extend([false, true].map(|forced| Action::Drop { forced, sale: None }));
    actions.extend([None, Some(0)].map(Action::End));
    actions.extend([Action::Create, Action::Adopt, Action::SetStock(1)]);
    let begun = Some(NOW + 1);
    let worlds = vec![World::EMPTY, created(Rules { begin: begun, ..sale() })];
    Bounds { worlds, faults: true, ..of("faults of sales", actions) }
}

/// Facts that err while orders wait.
pub fn queue_faults() -> Bounds {
    let mut actions = waiting(usual());
    actions.extend([Action::Restock(Restock::By(1)), Action::End(None), Action::End(Some(0))]);
    actions.extend([Action::Hold(None), Action::Drop { forced: false, sale: None }]);
    let worlds = vec![created(sale())];
    Bounds { worlds, total_max: 3, faults: true, ..of("faults of a queue", actions) }
}

/// A little of everything, without symmetry: the names in a trace are those of its actions.
pub fn small() -> Bounds {
    let references: &[_] = &[None, Some(0), Some(1)];
    let sales: &[_] = &[None, Some(1)];
    let requests =
        Requests { ids: &[0, 1], references, sales, extends: true, keeps: true, ..usual() };
    let mut actions = requests.all();
    actions.extend(pairs(&[0, 1], &[2]));
    actions.extend([Action::RejectUnsold(0), Action::RejectUnsold(1)]);
    actions.extend([Action::RejectLate(1, 0), Action::Lag, Action::Failover, Action::Create]);
    actions.extend([Action::Drop { forced: true, sale: None }, Action::End(Some(0))]);
    actions.extend([Restock::By(1), Restock::To(2)].map(Action::Restock));
    actions.push(Action::Begin(Some(1)));
    let worlds = vec![created(sale())];
    Bounds { worlds, sales: 2, total_max: 3, symmetry: false, ..of("planted", actions) }
}
