//! Which user tries when. Pure: the same numbers give the same plan.

/// The user of each try, in the order in which the tries are sent.
#[derive(Debug)]
pub struct Plan {
    /// Sets this run's order ids apart from those of an earlier run.
    run: String,
    users: Vec<u32>,
}

impl Plan {
    /// `tries` tries by at most `users_max` users. A share of them, `duplicates` (0 to 1), is
    /// made by a user who tried before; the others by new users, in order, while there are any.
    pub fn new(run: String, tries: u32, users_max: u32, duplicates: f64, seed: u64) -> Plan {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut distinct = 0;
        let users = (0..tries)
            .map(|_| {
                let repeat = random.f64() < duplicates;
                if distinct == users_max || (repeat && distinct > 0) {
                    return random.u32(0..distinct);
                }
                distinct += 1;
                distinct - 1
            })
            .collect();
        Plan { run, users }
    }

    pub fn tries(&self) -> u32 {
        u32::try_from(self.users.len()).unwrap_or(u32::MAX)
    }

    /// Users with at least one of the first `sent` tries.
    pub fn users_among(&self, sent: u32) -> u32 {
        // New users are numbered in order.
        self.users.iter().take(sent as usize).max().map_or(0, |last| last + 1)
    }

    /// The number of the user who makes a try; None past the end.
    pub fn user(&self, number: u32) -> Option<u32> {
        self.users.get(number as usize).copied()
    }

    pub fn order_id(&self, number: u32) -> String {
        format!("{}-{number}", self.run)
    }

    /// The try that an order id was made for.
    pub fn number(&self, order_id: &str) -> Option<u32> {
        order_id.strip_prefix(&self.run)?.strip_prefix('-')?.parse().ok()
    }
}

/// A user's id on the wire.
pub fn user_id(user: u32) -> String {
    format!("u{user}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn planned(tries: u32, users_max: u32, duplicates: f64, seed: u64) -> Plan {
        Plan::new("run".to_owned(), tries, users_max, duplicates, seed)
    }

    fn distinct(plan: &Plan) -> usize {
        plan.users.iter().collect::<HashSet<_>>().len()
    }

    #[test]
    fn a_seed_repeats_the_plan_and_another_does_not() {
        let users = |seed| planned(1_000, 1_000, 0.3, seed).users;
        assert_eq!(users(5), users(5));
        assert_ne!(users(5), users(6));
    }

    #[test]
    fn without_duplicates_everybody_tries_once() {
        let plan = planned(500, 500, 0.0, 1);
        assert_eq!(distinct(&plan), 500);
        assert_eq!(
            (plan.users_among(500), plan.users_among(20), plan.users_among(0)),
            (500, 20, 0)
        );
    }

    #[test]
    fn the_share_of_duplicates_is_kept() {
        let plan = planned(20_000, 20_000, 0.25, 1);
        let repeated = 20_000 - distinct(&plan);
        assert!((4_700..5_300).contains(&repeated), "{repeated}");
        assert_eq!(plan.users_among(20_000) as usize, distinct(&plan));
    }

    #[test]
    fn a_duplicate_repeats_a_user_who_tried_before() {
        let plan = planned(2_000, 2_000, 0.5, 9);
        let mut newest = 0;
        for (number, &user) in plan.users.iter().enumerate() {
            assert!(user <= newest, "try {number} by {user}, who is not next");
            if user == newest {
                newest += 1;
            }
        }
    }

    #[test]
    fn no_more_users_than_there_are() {
        let plan = planned(1_000, 10, 0.0, 1);
        assert_eq!(distinct(&plan), 10);
        assert_eq!(plan.tries(), 1_000);
        let all_repeat = planned(100, 100, 1.0, 1);
        assert_eq!(all_repeat.users_among(100), 1);
    }

    #[test]
    fn an_order_id_tells_its_try() {
        let plan = planned(3, 3, 0.0, 1);
        assert_eq!(plan.number(&plan.order_id(2)), Some(2));
        for other in ["", "run-", "run2", "earlier-2", "run-x"] {
            assert_eq!(plan.number(other), None, "{other}");
        }
    }
}
