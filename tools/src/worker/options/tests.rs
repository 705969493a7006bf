//! Options that are accepted, and options that are refused.

use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Options {
    Options::try_parse_from(line.split_whitespace()).unwrap()
}

#[test]
fn the_declarations_are_sound() {
    Options::command().debug_assert();
}

#[test]
fn a_tag_has_streams_of_its_own() {
    let options = parse("worker --tag b --tag a --tag b");
    let streams = options.named_streams().unwrap();
    assert_eq!(streams.len(), 2);
    assert_eq!(streams[0].orders, "stream.orders:{a}");
    assert_eq!(streams[1].released, "stream.orders.released:{b}");
    assert_eq!(streams[0].confirmed.as_deref(), Some("stream.orders.confirmed:{a}"));
    assert_eq!(parse("worker").named_streams(), None);
    assert_eq!(parse("worker").streams_of(None).released, "stream.orders.released");
    assert_eq!(parse("worker --confirmed=").streams_of(None).confirmed, None);
    let one = parse("worker --stream s:{7}").named_streams().unwrap().remove(0);
    assert_eq!(
        (&*one.released, one.confirmed.as_deref()),
        ("s.released:{7}", Some("s.confirmed:{7}"))
    );
    assert!(parse("worker --tag a}b").check().is_err());
    assert!(parse("worker --tag a --stream o{x}").check().is_err());
    assert!(parse("worker --stream a --released a").check().is_err());
    assert!(parse("worker --stream a --confirmed a").check().is_err());
}

#[test]
fn consumers_are_called_differently() {
    let options = parse("worker");
    assert_ne!(options.consumer(), options.consumer());
    assert_eq!(parse("worker --consumer c7").consumer(), "c7");
}

#[test]
fn a_prefix_is_part_of_a_plain_name() {
    assert_eq!(table_prefix("shop2_").as_deref(), Ok("shop2_"));
    for wrong in ["", "2shop", "a b", "a;", "A", "a.", "\u{e9}", &"x".repeat(33)] {
        assert!(table_prefix(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn fields_are_three_different_names() {
    assert_eq!(OrderFields::parse(" u  v o").unwrap().all(), ["u", "v", "o"]);
    for wrong in ["", "u v", "u v o x", "u u o", "u v ref"] {
        assert!(OrderFields::parse(wrong).is_err(), "{wrong}");
    }
}
