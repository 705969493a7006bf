//! Fencing tokens: numbers that grow with every acquisition of a lock, so that the protected
//! resource can distinguish an owner whose lease has ended from its successor.

/// The greatest possible number was already used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// The fencing token after `last`.
///
/// It follows the time, so it grows even if `last` was lost because its key expired, or because a
/// replica was promoted before it received the key.
pub fn next(last: Option<i64>, now_ms: i64) -> Result<i64, Exhausted> {
    let Some(last) = last else { return Ok(now_ms) };
    last.checked_add(1).map(|after| after.max(now_ms)).ok_or(Exhausted)
}

#[cfg(test)]
mod tests {
    use super::{Exhausted, next};

    #[test]
    fn a_fencing_token_is_one_more_or_the_time() {
        let rows = [
            (None, 1_000, Ok(1_000)),
            (Some(10), 1_000, Ok(1_000)),
            (Some(999), 1_000, Ok(1_000)),
            (Some(1_000), 1_000, Ok(1_001)),
            (Some(5_000), 1_000, Ok(5_001)),
            (Some(-7), 1_000, Ok(1_000)),
            (Some(i64::MAX - 1), 1_000, Ok(i64::MAX)),
            (Some(i64::MAX), 1_000, Err(Exhausted)),
        ];
        for (last, now_ms, want) in rows {
            assert_eq!(next(last, now_ms), want, "{last:?} at {now_ms}");
        }
    }

    #[test]
    fn they_grow_whatever_the_clock_does() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut last = None;
        for _ in 0..10_000 {
            let token = next(last, random.i64(0..1_000_000)).unwrap();
            assert!(last.is_none_or(|last| last < token));
            last = Some(token);
        }
    }
}
