//! Options that are accepted, and options that are refused.

use clap::CommandFactory;
use clap::error::ErrorKind;
use seckill_tools::command_line::with_command_first;

use super::site::table_prefix;
use super::*;

fn tried(line: &str) -> Result<Options, clap::Error> {
    let words = line.split_whitespace().map(Into::into).collect();
    Options::try_parse_from(with_command_first(&Options::command(), words))
}

fn parse(line: &str) -> Options {
    tried(line).unwrap()
}

#[test]
fn the_declarations_are_sound() {
    Options::command().debug_assert();
}

#[test]
fn a_port_alone_is_of_this_machine() {
    let metrics = |line: &str| parse(line).metrics.unwrap().to_string();
    assert_eq!(metrics("worker --metrics 9464"), "127.0.0.1:9464");
    assert_eq!(metrics("worker --metrics 0.0.0.0:9464"), "0.0.0.0:9464");
}

#[test]
fn a_command_takes_the_options_that_it_reads_on_either_side() {
    for line in ["worker --group g -v check --voucher 7", "worker check --voucher 7 --group g -v"] {
        let Some(Command::Check(wanted)) = parse(line).command else { panic!("{line}") };
        assert_eq!((&*wanted.site.group, wanted.site.verbose), ("g", 1), "{line}");
    }
    assert!(parse("worker --group check").command.is_none());
    let of_run = ["--batch 9", "--once", "--replicas 1", "--no-migrate", "--consumer c"];
    let commands = ["check --voucher 7", "resolve o1 --keep", "dead-letter 1-1"];
    let lines = of_run.iter().flat_map(|option| commands.map(|command| (*option, command)));
    let others = [
        ("--tag a", "check --voucher 7"),
        ("--json", "resolve o1 --keep"),
        ("--unchecked", "resolve o1 --keep"),
        ("--statements f", "dead-letter 1-1"),
    ];
    for (option, command) in lines.chain(others) {
        for line in [format!("worker {option} {command}"), format!("worker {command} {option}")] {
            let refused = tried(&line).expect_err(&line);
            assert_eq!(refused.kind(), ErrorKind::UnknownArgument, "{line}");
            let name = option.split(' ').next().unwrap();
            assert!(refused.to_string().contains(name), "{refused}");
        }
    }
    for line in [
        "o1 --re-pair",
        "o1 --keep --release",
        "o1 --keep --refund",
        "o1 --release --refunded",
        "--re-pair --voucher 7",
        "--payment p --refund --beyond 3",
    ] {
        let refused = tried(&format!("worker resolve {line}")).expect_err(line);
        assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{line}");
    }
}

/// Pages and examples may name an option without its value, or a command without what it needs, but
/// no option that it does not have.
#[test]
fn the_command_lines_of_pages_and_scripts_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut places: Vec<_> =
        ["README.md", "docs", "examples", "java/README.md", "packaging", "scripts", "tools"]
            .map(|place| root.join(place))
            .into();
    let mut seen = 0;
    while let Some(place) = places.pop() {
        if place.is_dir() && !place.ends_with("tools/src") && !place.ends_with("tools/tests") {
            places.extend(place.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
        let text = std::fs::read_to_string(&place).unwrap_or_default();
        let text = text.replace('"', "").replace("\\\n", " ");
        for rest in text.split("seckill-worker ").skip(1) {
            let line = rest.split(['`', '#', '\n', ';', '|', '&', '>', ',', ')']).next().unwrap();
            let first = line.split(' ').next().unwrap();
            if !first.starts_with("--") && !["check", "resolve", "dead-letter"].contains(&first) {
                continue;
            }
            seen += 1;
            if let Err(error) = tried(&format!("worker {line}")) {
                let kinds = [ErrorKind::UnknownArgument, ErrorKind::ArgumentConflict];
                assert!(!kinds.contains(&error.kind()), "{}: {error}", place.display());
            }
        }
    }
    assert!(seen > 50, "{seen}");
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
    assert_eq!(parse("worker").site.streams_of(None).released, "stream.orders.released");
    assert_eq!(parse("worker --no-confirmed").site.streams_of(None).confirmed, None);
    let one = parse("worker --stream s:{7}").named_streams().unwrap().remove(0);
    assert_eq!(
        (&*one.released, one.confirmed.as_deref()),
        ("s.released:{7}", Some("s.confirmed:{7}"))
    );
    assert!(tried("worker --tag a}b").is_err());
    assert!(parse("worker --tag a --stream o{x}").check().is_err());
    assert!(parse("worker --stream=").check().is_err());
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
