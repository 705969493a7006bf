//! The clock of the server is set back and forward under load.

use crate::faketime::Clock;
use crate::length::{Tally, histories};
use crate::load::{Load, tally};
use crate::whole::assert_whole;
use crate::world::{ask, make, run};
use crate::{acknowledged, crash::hold_ms};
use redis::Value;

/// The largest step of the clock, in hours.
const HOURS_MAX: i64 = 5;

#[test]
fn whatever_the_clock_does_holds_expire_and_nothing_is_lost() {
    histories("the clock set", 2, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let Some((clock, server)) = Clock::start() else { return Tally::default() };
        let hold_ms = hold_ms(&mut random);
        make(&server, hold_ms);
        let (mut steps, mut last) = (0, 0);
        let load = Load::start(&server, seed, 0);
        for _ in 0..random.u8(2..6) {
            load.wait_for_more_answers(random.usize(100..800));
            let hours = random.i64(-HOURS_MAX..=HOURS_MAX);
            clock.set(&server, hours);
            // The module looks ten times per second, and misses a step that is undone in between.
            steps += usize::from(hours != last);
            last = hours;
            server.until("the module to notice the clock", || {
                server.log().matches("the clock was set").count() >= steps
            });
        }
        load.wait_for_more_answers(random.usize(100..800));
        let logs = load.end();
        // Or orders in line would be held anew.
        assert_eq!(run(&server, "SECKILL.ALTER m END 1"), Value::Okay);
        // Later than the clock has ever been, and than all deadlines (10 minutes at most).
        clock.set(&server, HOURS_MAX + 1);
        server.until("all holds to end", || ask::<i64>(&server, "EXISTS seckill:hold:m") == 0);
        let state = assert_whole(&server);
        acknowledged::check_sales(&server, &state, &logs);
        Tally { ends: 1, ..tally(&logs) }
    });
}
