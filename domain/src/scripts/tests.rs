//! Valid and invalid configurations, and the calls that they replace.

use super::{Argument, ArgumentSource, Callable, ScriptTexts, Scripts, Sha1, WordPattern};

const A: &str = "a401349bbff2164ec35f9c5f6db8f92ff4519d9d";
const B: &str = "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4";

fn commands() -> Vec<Callable> {
    let any = |names: &str| -> Vec<WordPattern> {
        names.split(' ').map(|name| WordPattern::Any(name.to_owned())).collect()
    };
    let of = |words: &str| WordPattern::OneOf(words.split('|').map(str::to_owned).collect());
    let option = |token: &str, words: Vec<WordPattern>| {
        Argument::Optional([of(token)].into_iter().chain(words).collect())
    };
    let command = |name: &str, words_min, required: &str, options: Vec<Argument>| Callable {
        name: name.to_owned(),
        words_min,
        arguments: any(required).into_iter().map(Argument::Required).chain(options).collect(),
    };
    let missing = option("MISSING", vec![of("ERROR|SOLD-OUT")]);
    let sell = vec![option("UNITS", any("n")), option("NOSTREAM", Vec::new()), missing];
    let alter = vec![option("BEGIN", any("ms")), option("END", any("ms"))];
    vec![
        command("X.SELL", 3, "voucher user orderid", sell),
        command("X.FREE", 2, "key token", Vec::new()),
        command("X.TAKE", 1, "key", vec![Argument::Optional(any("units"))]),
        command("X.ALTER", 3, "voucher", alter),
        command("X.MANY", 3, "voucher", vec![Argument::Repeated(any("user orderid"), 3)]),
    ]
}

fn parse(text: &str) -> Result<Scripts, String> {
    Scripts::parse(text.as_bytes(), &commands()).map_err(|bad| bad.to_string())
}

fn parsed(text: &str) -> Scripts {
    parse(text).unwrap_or_else(|bad| panic!("{text}: {bad}"))
}

/// The command that replaces a call, with spaces between its words.
fn replaced(scripts: &Scripts, call: &[&str]) -> Option<String> {
    let found = scripts.of_sha1(call[1].as_bytes())?;
    let piece = found.piece(call.len(), call[2].as_bytes()).map(|piece| call[piece].join(" "));
    let mut words = vec![found.command.clone()];
    for taken in found.arguments(call.len(), call[2].as_bytes())? {
        words.push(match taken {
            ArgumentSource::Call(place) => call[place].to_owned(),
            ArgumentSource::CallAgain(place) => format!("{}(again)", call[place]),
            ArgumentSource::Word(word) => String::from_utf8_lossy(word).into_owned(),
        });
    }
    let is_so = piece.is_none_or(|piece| piece == words[1..].join(" "));
    assert!(is_so, "{call:?} in one piece");
    Some(words.join(" "))
}

#[test]
fn the_sha1_is_that_of_the_server() {
    assert_eq!(Sha1::of(b"return 1").to_string(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    assert_eq!(Sha1::of(b"").to_string(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    assert_eq!(Sha1::parse(&A.to_uppercase().into_bytes()), Sha1::parse(A.as_bytes()));
    for bad in ["", "g401349bbff2164ec35f9c5f6db8f92ff4519d9d", &A[1..], &format!("{A}0")] {
        assert_eq!(Sha1::parse(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn calls_become_commands() {
    let cases: [(&str, &[&str], Option<&str>); 14] = [
        ("x.sell ARGV[1] ARGV[2] ARGV[3]", &["0", "7", "ann", "o"], Some("X.SELL 7 ann o")),
        // Surplus arguments are not read by a script either.
        (
            "X.SELL ARGV[1] ARGV[2] ARGV[3]",
            &["1", "k", "7", "ann", "o", "z"],
            Some("X.SELL 7 ann o"),
        ),
        ("X.SELL ARGV[3] ARGV[1] ARGV[2]", &["0", "7", "ann", "o"], Some("X.SELL o 7 ann")),
        ("X.FREE KEYS[1] ARGV[1]", &["1", "k", "t"], Some("X.FREE k t")),
        ("X.FREE KEYS[1] ARGV[1]", &["2", "k", "l", "t"], Some("X.FREE k t")),
        ("X.FREE ARGV[1] ARGV[1]", &["0", "t"], Some("X.FREE t t(again)")),
        (
            "X.SELL KEYS[1] ARGV[1] * UNITS ARGV[2]",
            &["1", "7", "ann", "2"],
            Some("X.SELL 7 ann * UNITS 2"),
        ),
        ("X.SELL a b c", &["0"], Some("X.SELL a b c")),
        ("X.FREE KEYS[1] ARGV[1]", &["0", "k", "t"], None),
        ("X.FREE KEYS[1] ARGV[1]", &["1", "k"], None),
        ("X.FREE KEYS[1] ARGV[1]", &["3", "k", "t"], None),
        ("X.FREE KEYS[1] ARGV[1]", &["-1", "k", "t"], None),
        ("X.FREE KEYS[1] ARGV[1]", &["01", "k", "t"], None),
        ("X.FREE a b", &["9223372036854775807"], None),
    ];
    for (entry, arguments, wanted) in cases {
        let scripts = parsed(&format!("{A} {entry}"));
        let call = [&["EVALSHA", A], arguments].concat();
        assert_eq!(replaced(&scripts, &call).as_deref(), wanted, "{entry} of {arguments:?}");
        let other = [&["EVALSHA", B], arguments].concat();
        assert_eq!(replaced(&scripts, &other), None);
    }
}

#[test]
fn arguments_in_one_piece_are_known() {
    let cases = [
        ("X.SELL ARGV[1] ARGV[2] ARGV[3]", "0 7 ann o", Some(3..6)),
        ("X.SELL ARGV[1] ARGV[2] ARGV[3]", "2 k l 7 ann o z", Some(5..8)),
        ("X.FREE KEYS[1] ARGV[1]", "1 k t z", Some(3..5)),
        ("X.FREE KEYS[1] ARGV[1]", "2 k l t", None),
        ("X.FREE KEYS[1] KEYS[2]", "3 k l m", Some(3..5)),
        ("X.FREE KEYS[2] KEYS[1]", "2 k l", None),
        ("X.FREE ARGV[1] KEYS[1]", "1 k t", None),
        ("X.FREE ARGV[1] ARGV[1]", "0 t", None),
        ("X.FREE ARGV[1] word", "0 t", None),
        ("X.SELL ARGV[1] ARGV[2] ARGV[3]", "0 7 ann", None),
    ];
    for (entry, call, wanted) in cases {
        let scripts = parsed(&format!("{A} {entry}"));
        let call: Vec<_> = ["EVALSHA", A].into_iter().chain(call.split(' ')).collect();
        let found = scripts.of_sha1(A.as_bytes()).unwrap();
        assert_eq!(found.piece(call.len(), call[2].as_bytes()), wanted, "{entry}: {call:?}");
    }
}

#[test]
fn entries_are_found_in_any_order_and_case() {
    let capital = B.to_uppercase();
    for text in [
        format!("{A} X.FREE a b;{capital} X.FREE c d"),
        format!(" ; {capital}\tx.free  c d ;;\n{A} X.free a b ; "),
    ] {
        let scripts = parsed(&text);
        assert!(!scripts.is_empty());
        for (sha1, wanted) in [(A, "X.FREE a b"), (B, "X.FREE c d"), (&capital, "X.FREE c d")] {
            assert_eq!(replaced(&scripts, &["EVALSHA", sha1, "0"]).as_deref(), Some(wanted));
        }
    }
    for nothing in ["", " ", ";", " ; ;\t"] {
        assert!(parsed(nothing).is_empty());
    }
}

#[test]
fn bad_entries_are_refused_by_name() {
    let free = format!("{B} X.FREE a b");
    let cases = [
        ("X.FREE a b".to_owned(), "entry 1: must begin with the sha1 of a script, 40 hex digits"),
        (format!("{free}; {}", &A[1..]), "entry 2: must begin"),
        (format!("{free}; {A}"), "entry 2 (a401349bbff2164ec35f9c5f6db8f92ff4519d9d): must name"),
        (format!("{A} GET ARGV[1]"), ": the module has no such command"),
        (format!("{A} \u{e9} ARGV[1]"), ": the module has no such command"),
        (
            format!("{free};;{}", free.to_uppercase()),
            "entry 2 (e9f69f2beb755be68b5e456ee2ce9aadfbc",
        ),
        (format!("{free};{free}"), ": this sha1 already has an entry"),
        (format!("{A} X.FREE KEYS[0] a"), ": keys and arguments are KEYS[1], ARGV[1] and so on"),
        (format!("{A} X.FREE KEYS[01] a"), ": keys and"),
        (format!("{A} X.FREE argv[1] a"), ": keys and"),
        (format!("{A} X.FREE ARGV[] a"), ": keys and"),
        (format!("{A} X.FREE ARGV[1 a"), ": keys and"),
        (format!("{A} X.FREE ARGV[-1] a"), ": keys and"),
        (format!("{A} X.FREE ARGV[9223372036854775808] a"), ": keys and"),
        (format!("{A} X.FREE KEYS[2] ARGV[1]"), ": KEYS has a gap in its numbers"),
        (format!("{A} X.FREE ARGV[1] ARGV[3]"), ": ARGV has a gap in its numbers"),
        (
            format!("{A} X.FREE ARGV[1] ARGV[9223372036854775807]"),
            ": ARGV has a gap in its numbers",
        ),
        (format!("{A} X.FREE a"), ": its arguments do not match X.FREE key token"),
        (format!("{A} X.FREE"), "X.FREE key token"),
        (format!("{A} X.TAKE a b c"), "X.TAKE key [units]"),
        (
            format!("{A} x.sell a b"),
            "X.SELL voucher user orderid [UNITS n] [NOSTREAM] [MISSING ERROR|SOLD-OUT]",
        ),
        (format!("{A} X.MANY a b"), "X.MANY voucher user orderid [user orderid ...]"),
    ];
    for (text, wanted) in cases {
        let bad = parse(&text).err().unwrap_or_else(|| panic!("{text} was taken"));
        assert!(bad.contains(wanted), "{text}: {bad}");
        assert!(bad.is_ascii() && bad.starts_with("entry "), "{text}: {bad}");
    }
}

#[test]
fn arguments_must_be_able_to_be_those_of_the_command() {
    let cases = [
        ("X.SELL a b c", true),
        ("X.SELL a b", false),
        ("X.SELL ARGV[1] ARGV[2] ARGV[3] UNITS", false),
        ("X.SELL ARGV[1] ARGV[2] ARGV[3] units 2", true),
        ("X.SELL a b c TRIES 2", false),
        ("X.SELL a b c 2 UNITS", false),
        ("X.SELL a b c UNITS UNITS", true),
        ("X.SELL a b c UNITS 1 UNITS 1", false),
        ("X.SELL a b c NOSTREAM UNITS 1", true),
        ("X.SELL a b c UNITS NOSTREAM 1", false),
        ("X.SELL a b c MISSING sold-out", true),
        ("X.SELL a b c MISSING ARGV[1]", true),
        ("X.SELL a b c MISSING nothing", false),
        // The word of a call is not known before: it may be any option with this number of words.
        ("X.SELL a b c ARGV[1]", true),
        ("X.SELL a b c ARGV[1] ARGV[2] 3", true),
        ("X.SELL a b c ARGV[1] x y", false),
        ("X.SELL a b c ARGV[1] ARGV[2] ARGV[3] ARGV[4] ARGV[5]", true),
        ("X.SELL a b c ARGV[1] ARGV[2] ARGV[3] ARGV[4] ARGV[5] ARGV[6]", false),
        ("X.TAKE a", true),
        ("X.TAKE a 2", true),
        ("X.TAKE a ARGV[1] ARGV[2]", false),
        ("X.ALTER a", false),
        ("X.ALTER a END 1 BEGIN 2", true),
        ("X.ALTER a KEYS[1] KEYS[2]", true),
        ("X.ALTER a KEYS[1]", false),
        ("X.MANY a", false),
        ("X.MANY a b c d e f g", true),
        ("X.MANY a b c d", false),
        ("X.MANY a b c d e f g h i", false),
    ];
    for (entry, is_taken) in cases {
        assert_eq!(parse(&format!("{A} {entry}")).is_ok(), is_taken, "{entry}");
    }
}

#[test]
fn texts_are_known_by_their_sha1_however_often_they_come() {
    let (sell, free): (&[u8], &[u8]) = (b"return 'sell'", b"return 'free'");
    let long = vec![b' '; ScriptTexts::LEN_MAX + 1];
    let entries = [sell, free, &long].map(|text| format!("{} X.FREE a b", Sha1::of(text)));
    let scripts = parsed(&entries.join(";"));
    let mut texts = ScriptTexts::default();
    for _ in 0..3 {
        for text in [b"return 1".as_slice(), sell, b"", b"return 2", free, &long, &long[1..]] {
            let found = texts.find(&scripts, text).map(|found| found.sha1);
            // Texts beyond the bound are left to the server.
            let is_known = [sell, free].contains(&text);
            assert_eq!(found, is_known.then(|| Sha1::of(text)));
        }
    }
    let empty = parsed(&format!("{} X.FREE a b", Sha1::of(b"")));
    let mut texts = ScriptTexts::default();
    assert!(texts.find(&empty, b"").is_some());
    assert!(texts.find(&empty, b"x").is_none() && texts.find(&empty, b"").is_some());
}
