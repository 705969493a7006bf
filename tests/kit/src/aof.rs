//! Reads the append-only file of a server: what it would send to a replica.

use std::fs;
use std::path::Path;

use crate::harness::Server;

/// A command as it is in the file.
pub type Argv = Vec<Vec<u8>>;

impl Server {
    /// All commands of the append-only file in order, without SELECT.
    /// Fails on a file that starts as an RDB: rewrites need `aof-use-rdb-preamble no`.
    pub fn aof(&self) -> Vec<Argv> {
        let mut commands = self.aof_with_selects();
        commands.retain(|argv| !is(argv, "SELECT"));
        commands
    }

    pub fn aof_with_selects(&self) -> Vec<Argv> {
        let folder = self.dir().join("appendonlydir");
        let manifest = fs::read_to_string(folder.join("appendonly.aof.manifest"));
        let manifest = manifest.expect("a server started with aof()");
        let mut commands = Vec::new();
        // Lines are "file <name> seq <n> type b|i|h", base first; h is history, no longer valid.
        for line in manifest.lines().filter(|line| !line.ends_with("type h")) {
            let name = line.split(' ').nth(1).expect("a file name in the manifest");
            let base = line.ends_with("type b");
            if !(base && name.ends_with(".rdb") && is_empty_rdb(&folder.join(name))) {
                commands.extend(parse(&fs::read(folder.join(name)).expect("read the AOF")));
            }
        }
        commands
    }

    /// Runs `act` and returns the commands that it has added to the file, without SELECT.
    pub fn aof_of(&self, act: impl FnOnce()) -> Vec<Argv> {
        let before = self.aof().len();
        act();
        self.aof().split_off(before)
    }
}

/// A command in readable form, with stream ids of the clock as ID, and all other times as WHEN.
pub fn masked(argv: &Argv) -> String {
    let is_time = |text: &str| text.len() == 13 && text.bytes().all(|byte| byte.is_ascii_digit());
    let part = |part: &str| if is_time(part) { "WHEN".to_owned() } else { part.to_owned() };
    let word = |word: &str| match word.split_once('-') {
        Some((ms, _)) if is_time(ms) => "ID".to_owned(),
        _ => word.split(':').map(part).collect::<Vec<_>>().join(":"),
    };
    shown(argv).split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Does a command have this name, in any case of letters?
pub fn is(argv: &Argv, name: &str) -> bool {
    argv.first().is_some_and(|first| first.eq_ignore_ascii_case(name.as_bytes()))
}

/// A command in readable form: arguments joined by spaces, bytes escaped, the name in capitals, ids
/// of sales as SALE.
pub fn shown(argv: &Argv) -> String {
    let mut words: Vec<_> = argv.iter().map(|arg| arg.escape_ascii().to_string()).collect();
    if let Some(name) = words.first_mut() {
        name.make_ascii_uppercase();
    }
    without_sale_ids(&words.join(" "))
}

/// The text with SALE for each id of a sale: sixteen digits, in this century.
pub fn without_sale_ids(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split_inclusive(|byte: char| !byte.is_ascii_digit()) {
        let digits = part.trim_end_matches(|byte: char| !byte.is_ascii_digit());
        if digits.len() == 16 && digits.starts_with('1') {
            parts.extend(["SALE", &part[16..]]);
        } else {
            parts.push(part);
        }
    }
    parts.concat()
}

/// Is this the base file of a server that started empty? It contains no command.
fn is_empty_rdb(path: &Path) -> bool {
    let bytes = fs::read(path).expect("read the base of the AOF");
    // 0xfb (RESIZEDB) precedes the first key of each database.
    assert!(bytes.starts_with(b"REDIS") || bytes.starts_with(b"VALKEY"), "no RDB");
    assert!(bytes.len() < 200, "the AOF starts as an RDB with keys in it");
    true
}

fn parse(mut rest: &[u8]) -> Vec<Argv> {
    let mut commands = Vec::new();
    while !rest.is_empty() {
        if rest.starts_with(b"#") {
            line(&mut rest);
            continue;
        }
        let count = number(&mut rest, b'*');
        let mut argv = Vec::new();
        for _ in 0..count {
            let length = number(&mut rest, b'$');
            let (arg, after) = rest.split_at(length);
            argv.push(arg.to_vec());
            rest = after.strip_prefix(b"\r\n").expect("CRLF behind an argument of the AOF");
        }
        commands.push(argv);
    }
    commands
}

fn line<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|&byte| byte == b'\n').expect("a whole line in the AOF");
    let (line, after) = rest.split_at(end + 1);
    *rest = after;
    line.trim_ascii_end()
}

fn number(rest: &mut &[u8], mark: u8) -> usize {
    let line = line(rest);
    let digits = line.strip_prefix(&[mark]).expect("a length in the AOF");
    String::from_utf8_lossy(digits).parse().expect("a number in the AOF")
}
