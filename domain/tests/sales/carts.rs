//! Carts of two vouchers, tries and releases of their parts, refused at any step: no cart is half
//! made, and none is ever completed.

use crate::actions::Named;
use crate::bounds::{created, order, sale};
use crate::planted_carts::Fault;
use crate::requests::ALL;
use crate::world::{Error, NOW, View, World, Written};
use domain::book::{Entry, Reason, State as OrderState};
use domain::carts::{ArticleAnswer, Cart, Deciding};
use domain::orders::{self, OrderRequest};
use domain::plan::{Decision, Order, Plan, Take};
use domain::rules::{Meant, Millis, Rules};
use domain::sale::Policy;
use domain::tries::{self, Wish};
use stateright::{Model, Property};
use std::cell::Cell;

pub const VOUCHERS: [usize; 2] = [0, 1];

/// The ids of the orders.
pub const IDS: u8 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub worlds: [World; 2],
    /// Carts that were made, of both vouchers: what each part was answered last.
    made: [Option<[i64; 2]>; IDS as usize],
    commands: u8,
    ticks: u8,
    pub bad: Option<&'static str>,
}

/// A cart of these vouchers, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CartOf {
    pub articles: &'static [usize],
    pub user: u8,
    pub id: u8,
    pub units: i64,
    /// Writing is refused at this article.
    refused_at: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Cart(CartOf),
    Try(usize, Order<u8>),
    Cancel(usize, Named),
    Timer(usize, u8),
    Tick,
}

pub struct Carts {
    pub fault: Option<Fault>,
    pub commands: u8,
    pub ticks: u8,
}

/// What the client is answered.
type Answered = Result<Vec<i64>, Error>;

/// The course of one cart: facts, decision, plans, apply, as the module does it.
pub struct Course {
    pub worlds: [World; 2],
    pub bad: Option<&'static str>,
    fault: Option<Fault>,
    asked: Cell<usize>,
}

impl Course {
    fn of(state: &State, fault: Option<Fault>) -> Self {
        Self { worlds: state.worlds, bad: state.bad, fault, asked: Cell::new(0) }
    }

    pub fn view(&self, of: usize) -> View<'_> {
        let world = &self.worlds[of];
        let (asked, policy) = (&self.asked, Policy::default());
        View { world, asked, fails: usize::MAX, knows_buyers: false, policy }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub fn apply(&mut self, of: usize, plan: Plan<u8>) {
        let mut written = Written::default();
        if self.worlds[of].apply(&plan.into(), &mut written, &mut self.bad).is_err() {
            self.bad = Some("a cart that asks for the buyer");
        }
    }

    fn expire(&mut self, of: usize, ids: &[u8]) {
        for id in ids {
            let plan = orders::end_hold(&self.view(of), id, Reason::Expired);
            let Ok(plan) = plan else { continue };
            if self.has(Fault::ReleasesTwice) {
                self.apply(of, plan.clone());
            }
            self.apply(of, plan);
        }
    }

    fn run(&mut self, cart: &CartOf) -> Answered {
        let CartOf { articles, user, id, units, refused_at } = *cart;
        let mut articles: Vec<usize> = articles.to_vec();
        let mut expired = false;
        loop {
            let mut deciding = Deciding::new(expired);
            let mut each = articles.iter();
            let decided = each
                .try_for_each(|of| deciding.article(&self.view(*of), &order(user, id, units)))
                .and_then(|()| Ok(deciding.end()?));
            let decided = match self.fault {
                Some(fault) => fault.decide(self, &articles, cart, decided),
                None => decided,
            };
            match decided? {
                Cart::ExpireFirst(due) => {
                    if expired {
                        self.bad = Some("expired twice");
                        return Err(Error::Fault);
                    }
                    let due_of = due.iter().map(|(number, _)| articles[*number]).collect();
                    let most = if self.has(Fault::ExpiresOne) { 1 } else { due.len() };
                    for (number, ids) in due.into_iter().take(most) {
                        self.expire(articles[number], &ids);
                    }
                    if self.has(Fault::ForgetsArticle) {
                        articles = due_of;
                    }
                    expired = true;
                }
                Cart::Refused(parts) => return Ok(parts.iter().map(|it| self.code(*it)).collect()),
                Cart::Repeated if self.has(Fault::ForgetsRelease) => {
                    return Ok(vec![0; articles.len()]);
                }
                Cart::Repeated => {
                    let order = order(user, id, units);
                    return articles.into_iter().map(|of| self.a_try(of, &order)).collect();
                }
                Cart::Made(takes) => return self.make(&articles, takes, refused_at),
            }
        }
    }

    fn code(&self, part: ArticleAnswer) -> i64 {
        match part {
            ArticleAnswer::NotTaken if self.has(Fault::SaysTaken) => 0,
            part => part.code(),
        }
    }

    /// All or nothing: what is refused is taken back before a stock, book or hold is touched.
    fn make(
        &mut self,
        articles: &[usize],
        takes: Vec<Take<u8>>,
        refused_at: Option<usize>,
    ) -> Answered {
        let kept = match refused_at {
            Some(at) if self.has(Fault::HalfCart) => at,
            Some(_) => 0,
            None => takes.len(),
        };
        let codes = vec![0; takes.len()];
        for (of, take) in articles.iter().zip(takes).take(kept) {
            self.apply(*of, Plan::Take(take));
        }
        if refused_at.is_some() { Err(Error::Fault) } else { Ok(codes) }
    }

    /// A try of one article alone.
    pub fn a_try(&mut self, of: usize, order: &Order<u8>) -> Result<i64, Error> {
        let decide =
            |run: &Self, expired| tries::decide(&run.view(of), order, Wish::PLAIN, expired);
        let decided = match decide(self, false)? {
            Decision::ExpireFirst(ids) => {
                self.expire(of, &ids);
                decide(self, true)?
            }
            decided => decided,
        };
        match decided {
            Decision::Answer(answer) => Ok(answer.outcome.code()),
            Decision::Do(answer, plan) => {
                self.apply(of, plan);
                Ok(answer.outcome.code())
            }
            Decision::ExpireFirst(_) => Err(Error::Fault),
        }
    }
}

/// The same books, but for orders that have expired.
fn only_expired(before: &World, after: &World) -> bool {
    before.book.iter().zip(&after.book).all(|(before, after)| {
        let has_expired = |it: &Entry<u8>| it.state == OrderState::Released(Reason::Expired);
        before == after
            || before.is_some_and(|it| it.is_overdue(NOW))
                && after.as_ref().is_some_and(has_expired)
    })
}

/// What must be true of a cart, whatever became of it.
fn check(
    before: &State,
    cart: &CartOf,
    course: &Course,
    answer: &Answered,
) -> Result<(), &'static str> {
    let CartOf { articles, user, id, units, refused_at } = *cart;
    let wrong = |is_wrong: bool, word| if is_wrong { Err(word) } else { Ok(()) };
    let entry = |worlds: &[World; 2], of: usize| worlds[of].entry(id);
    let had = articles.iter().filter(|of| entry(&before.worlds, **of).is_some()).count();
    let has = articles.iter().filter(|of| entry(&course.worlds, **of).is_some()).count();
    wrong(has != had && had != 0, "a cart that was completed")?;
    wrong(has != had && has != articles.len(), "half a cart")?;
    for of in VOUCHERS.iter().filter(|of| !articles.contains(of)) {
        wrong(before.worlds[*of] != course.worlds[*of], "another voucher is changed")?;
    }
    let Ok(codes) = answer else {
        wrong(has != had, "an error that sells")?;
        let all = VOUCHERS.iter();
        let mut all = all.map(|of| only_expired(&before.worlds[*of], &course.worlds[*of]));
        return wrong(!all.all(|it| it), "an error that changes something");
    };
    wrong(codes.len() != articles.len(), "an article without an answer")?;
    wrong(0 < had && had < articles.len(), "an order of another cart is answered")?;
    wrong(had == 0 && has > 0 && refused_at.is_some(), "a refused cart that is sold")?;
    let holds: Vec<Option<Millis>> =
        articles.iter().map(|of| before.worlds[*of].rules.and_then(|rules| rules.hold)).collect();
    let is_new = had == 0;
    wrong(
        is_new && !holds.iter().flatten().count().is_multiple_of(holds.len()),
        "vouchers with reservations and without",
    )?;
    for (of, code) in articles.iter().zip(codes) {
        let live = entry(&course.worlds, *of).filter(|it| it.state.is_live());
        let mine = live.filter(|it| it.user == user && it.asked.get() == units);
        wrong((*code == 0) != mine.is_some(), "0 is not what the user has")?;
        if has == 0 {
            // A single try, after the same settling, is answered the same.
            let (view, order) = (course.view(*of), order(user, id, units));
            let alone = tries::decide(&view, &order, Wish::PLAIN, true);
            let alone = match alone {
                Ok(Decision::Answer(answer)) => answer.outcome.code(),
                Ok(Decision::Do(_, Plan::Take(_))) => ArticleAnswer::NOT_TAKEN,
                _ => -1,
            };
            wrong(alone != *code, "an article is not answered as a try of it alone")?;
            let world = &course.worlds[*of];
            let due = || (0..IDS).filter(|it| world.holds[usize::from(*it)] == Some(NOW));
            let is_his = |it: u8| world.entry(it).is_some_and(|it| it.user == user);
            let is_in_the_way = match code {
                1 => due().next().is_some(),
                2 => due().any(is_his),
                _ => false,
            };
            wrong(is_in_the_way, "an overdue hold stands in the way")?;
        }
        if is_new && has > 0 {
            let hold = holds.iter().flatten().min().map_or(0, |shortest| NOW + shortest);
            let is_until = live.is_some_and(|it| it.deadline == hold);
            wrong(!is_until, "a cart is held until several moments")?;
        }
    }
    wrong(
        is_new && has == 0 && codes.iter().all(|it| *it == ArticleAnswer::NOT_TAKEN),
        "left for nothing",
    )
}

impl State {
    /// Answers to a cart that was made are 0, or for ever 5.
    fn tell(&mut self, cart: &CartOf, answer: &Answered) {
        let Ok(codes) = answer else { return };
        if cart.articles.len() < 2 {
            return;
        }
        let mut now = [0; 2];
        for (of, code) in cart.articles.iter().zip(codes) {
            now[*of] = *code;
        }
        let made = &mut self.made[usize::from(cart.id)];
        if let Some(last) = made {
            let follows = |(last, now): (&i64, &i64)| *now == 5 || *now == 0 && *last == 0;
            if !last.iter().zip(&now).all(follows) {
                self.bad = Some("a repeat is answered otherwise");
            }
        }
        if codes.iter().all(|code| [0, 5].contains(code)) {
            *made = Some(now);
        }
    }
}

/// Two vouchers by total, limit and hold.
fn worlds(both: [(i64, i64, Option<Millis>); 2]) -> [World; 2] {
    both.map(|(total, limit, hold)| created(Rules { total, limit, hold, ..sale() }))
}

impl Model for Carts {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        let all = [
            worlds([(1, 1, Some(1)), (2, 2, Some(2))]),
            worlds([(2, 2, Some(2)), (1, 2, Some(1))]),
            worlds([(1, 1, None), (2, 1, None)]),
            worlds([(2, 1, Some(1)), (2, 1, None)]),
        ];
        let made = [None; IDS as usize];
        let all = all.into_iter();
        all.map(|worlds| State { worlds, made, commands: 0, ticks: 0, bad: None }).collect()
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        if state.ticks < self.ticks {
            moves.push(Move::Tick);
        }
        for of in VOUCHERS {
            let due = (0..IDS).filter(|id| state.worlds[of].holds[usize::from(*id)] == Some(NOW));
            moves.extend(due.map(|id| Move::Timer(of, id)));
        }
        if state.commands == self.commands {
            return;
        }
        for (user, id) in (0..IDS).flat_map(|id| [(0, id), (1, id)]) {
            for units in [1, 2] {
                for articles in [&[0, 1][..], &[1, 0], &[0]] {
                    let refused = [None, Some(0), Some(1)].into_iter().take(articles.len() + 1);
                    moves.extend(refused.map(|refused_at| {
                        Move::Cart(CartOf { articles, user, id, units, refused_at })
                    }));
                }
            }
            for of in VOUCHERS {
                moves.push(Move::Try(of, order(user, id, 1)));
                moves.push(Move::Cancel(of, Named { user, id, sale: None }));
            }
        }
    }

    fn next_state(&self, last: &State, action: Move) -> Option<State> {
        let mut next = last.clone();
        let mut course = Course::of(last, self.fault);
        match action {
            Move::Tick => {
                next.worlds.iter_mut().for_each(World::tick);
                next.ticks += 1;
                return Some(next);
            }
            Move::Timer(of, id) => course.expire(of, &[id]),
            Move::Try(of, order) => drop(course.a_try(of, &order)),
            Move::Cancel(of, named) => {
                let request = OrderRequest { user: named.user, id: named.id, sale: Meant::Any };
                let decided = orders::cancel(&course.view(of), &request, ALL).ok()?;
                if let Decision::Do(_, plan) = decided {
                    course.apply(of, plan);
                }
            }
            Move::Cart(cart) => {
                let answer = course.run(&cart);
                let checked = check(last, &cart, &course, &answer);
                next.bad = checked.err();
                next.tell(&cart, &answer);
            }
        }
        next.commands += u8::from(!matches!(action, Move::Timer(..)));
        (next.worlds, next.bad) = (course.worlds, next.bad.or(course.bad));
        (next.worlds != last.worlds || next.bad.is_some()).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing is wrong", |_, state: &State| state.bad.is_none())]
    }
}
