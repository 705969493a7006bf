//! Sets of units have one spelling, and are sets.

use domain::unit_set::UnitSet;
use std::collections::BTreeSet;

/// Reads a set as its spelling says, with numbers that are too simple to be wrong.
fn model(text: &str) -> Option<Vec<(i64, i64)>> {
    let number = |text: &str| {
        let number: i64 = text.parse().ok()?;
        (number > 0 && number.to_string() == text).then_some(number)
    };
    let range = |range: &str| {
        let (first, last) = range.split_once('-')?;
        Some((number(first)?, number(last)?))
    };
    let ranges: Vec<_> = match text {
        "" => Vec::new(),
        text => text.split(',').map(range).collect::<Option<_>>()?,
    };
    let rises = ranges.iter().all(|(first, last)| first <= last);
    let mut pairs = ranges.windows(2);
    let is_apart = pairs.all(|pair| i128::from(pair[0].1) + 1 < i128::from(pair[1].0));
    (rises && is_apart).then_some(ranges)
}

/// Any bytes are a set or none, and small sets are sets of numbers.
pub(crate) fn unit_sets(bytes: &[u8]) {
    let read = UnitSet::parse(bytes);
    let wanted = std::str::from_utf8(bytes).ok().and_then(model);
    assert_eq!(read.as_ref().ok().map(|set| set.ranges().collect::<Vec<_>>()), wanted);
    if let Ok(set) = &read {
        assert_eq!(set.write().as_bytes(), bytes);
        assert_eq!(set.without(set), UnitSet::EMPTY);
        assert_eq!(set.union(set), *set);
        assert_eq!(set.common(&UnitSet::whole()), *set);
        assert_eq!(UnitSet::whole().without(&UnitSet::whole().without(set)), *set);
    }
    let (left, right) = bytes.split_at(bytes.len() / 2);
    let numbers = |bytes: &[u8]| bytes.iter().map(|byte| i64::from(byte % 24) + 1).collect();
    let (left, right): (BTreeSet<i64>, BTreeSet<i64>) = (numbers(left), numbers(right));
    let of = |numbers: &BTreeSet<i64>| {
        let ones = numbers.iter().map(|unit| UnitSet::between(*unit, *unit));
        ones.fold(UnitSet::EMPTY, |set, one| set.union(&one))
    };
    let (one, other) = (of(&left), of(&right));
    assert_eq!(one.union(&other), of(&(&left | &right)));
    assert_eq!(one.without(&other), of(&(&left - &right)));
    assert_eq!(one.common(&other), of(&(&left & &right)));
    assert_eq!(one.count(), left.len() as i64);
    assert_eq!(UnitSet::parse(one.write().as_bytes()), Ok(one));
}
