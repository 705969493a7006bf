//! Tables of the documentation that are generated from the server's answers and redis.conf; and the
//! syntax at the top of a command's page.
//!
//! Such a table is in a page between `<!-- generated: name -->` and `<!-- end of generated -->`.
//! After a change of a command, a setting or a field of INFO, this command writes all tables:
//!
//!     WRITE_DOCS=1 cargo test --test it docs_tables

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::config::CONFIGS;
use crate::declared::{Argument, Declared, field, items, texts};
use crate::harness::{Server, text};
use crate::metadata::{COMMANDS, Row, categories};
use domain::info;
use kit::pages::page;

const END: &str = "<!-- end of generated -->";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The server's description of a command.
struct Command {
    name: String,
    summary: String,
    complexity: String,
    flags: Vec<&'static str>,
    keys: Vec<String>,
}

impl Command {
    fn page(&self) -> String {
        format!("{}.md", self.name)
    }

    fn spelled(&self) -> String {
        self.name.to_uppercase()
    }
}

fn commands() -> Vec<Command> {
    let server = Server::start();
    let of_row = |(name, _, flags, _): Row| {
        let reply = server.call(&["COMMAND", "DOCS", name]);
        let docs = field(&reply, name).unwrap_or_else(|| panic!("no docs of {name}"));
        let said = |what: &str| text(field(docs, what).expect(what));
        let info = server.call(&["COMMAND", "INFO", name]);
        let known = texts(&items(&items(&info)[0])[2]);
        let arguments = Argument::all(docs);
        let all =
            arguments.iter().flat_map(|argument| [argument].into_iter().chain(&argument.parts));
        let keys = all.filter(|argument| argument.kind == "key");
        Command {
            name: name.to_owned(),
            summary: said("summary"),
            complexity: said("complexity"),
            // In the order of the tests' table, because the server's set of flags has no order.
            flags: flags.split(' ').filter(|flag| known.contains(&(*flag).to_owned())).collect(),
            keys: keys.map(|key| key.name.clone()).collect(),
        }
    };
    COMMANDS.into_iter().map(of_row).collect()
}

fn quoted<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    words.join(", ")
}

fn rows<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = format!("| {} |\n|{}\n", head.join(" | ").trim(), " --- |".repeat(N));
    for row in rows {
        let _ = writeln!(table, "| {} |", row.join(" | "));
    }
    table
}

/// What each command does and costs, and which of its arguments are keys.
fn overview(commands: &[Command]) -> String {
    let row = |command: &Command| {
        let link = format!("[{}](commands/{})", command.spelled(), command.page());
        let (flags, keys) = (quoted(&command.flags), quoted(&command.keys));
        [link, command.summary.clone(), command.complexity.clone(), flags, keys]
    };
    rows(["command", "what it does", "complexity", "flags", "keys"], commands.iter().map(row))
}

/// Which commands are in the same categories.
fn access(commands: &[Command]) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for command in commands {
        let key = quoted(&categories(&command.name, &command.flags));
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, names)) => names.push(command.spelled()),
            None => groups.push((key, vec![command.spelled()])),
        }
    }
    let row = |(categories, names): (String, Vec<String>)| [quoted(&names), categories];
    rows(["commands", "categories"], groups.into_iter().map(row))
}

/// The first line of the comment that redis.conf has above a setting.
fn comment(conf: &str, name: &str) -> String {
    let lines: Vec<_> = conf.lines().collect();
    let at = lines.iter().position(|line| line.split(' ').next() == Some(name)).expect(name);
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("# "));
    let first = above.last().unwrap_or_else(|| panic!("redis.conf: no comment above {name}"));
    first.trim_start_matches("# ").trim_end_matches('.').to_owned()
}

fn settings() -> String {
    let conf = page("redis.conf");
    let row = |(name, default, _): (&str, &str, &str)| {
        let shown = if default.is_empty() { "empty".to_owned() } else { quoted(&[default]) };
        let link = format!("[`{name}`](#{})", name.replace('.', ""));
        [link, shown, comment(&conf, name)]
    };
    rows(["name", "default", "meaning"], CONFIGS.map(row))
}

fn fields(kind: info::Kind, shows: &'static str) -> String {
    let chosen = info::FIELDS.into_iter().filter(|field| field.kind == kind);
    let row = |field: &info::Field| {
        let name = field.name.to_str().expect("ASCII");
        let link = "[`seckill.scripts`](configuration.md#seckillscripts)";
        [format!("`seckill_{name}`"), field.meaning.replace("seckill.scripts", link)]
    };
    rows(["field", shows], chosen.map(row))
}

/// Every generated table: its page, its name, its text.
fn tables() -> Vec<(&'static str, &'static str, String)> {
    let commands = commands();
    vec![
        ("docs/README.md", "commands", overview(&commands)),
        ("docs/configuration.md", "configurations", settings()),
        ("docs/operating.md", "categories", access(&commands)),
        ("docs/operating.md", "counters", fields(info::Kind::Counter, "counts")),
        ("docs/operating.md", "gauges", fields(info::Kind::Gauge, "shows")),
        ("docs/operating.md", "names", fields(info::Kind::Name, "shows")),
    ]
}

/// The page with this table in its place.
fn with_table(page: &str, name: &str, table: &str) -> Option<String> {
    let mark = format!("<!-- generated: {name} -->\n");
    let (before, rest) = page.split_once(&mark)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{mark}\n{table}\n{END}{after}"))
}

#[test]
fn tables_are_as_generated() {
    let mut stale = Vec::new();
    for (path, name, table) in tables() {
        let page = page(path);
        let wanted = with_table(&page, name, &table);
        let wanted = wanted.unwrap_or_else(|| panic!("{path} has no marks of {name}"));
        if env::var_os("WRITE_DOCS").is_some() {
            fs::write(root().join(path), wanted).expect("write the page");
        } else if page != wanted {
            stale.push(format!("{path}: the table {name} should be\n{table}"));
        }
    }
    let how = "WRITE_DOCS=1 cargo test --test it docs_tables";
    assert!(stale.is_empty(), "{how} writes\n{}", stale.join("\n"));
}

/// No page has marks of a table that is not generated.
#[test]
fn marks_are_of_tables_that_are_generated() {
    let tables = tables();
    for folder in ["docs", "docs/commands"] {
        for entry in fs::read_dir(root().join(folder)).expect("docs").flatten() {
            let name = entry.file_name().into_string().expect("a name");
            if !name.ends_with(".md") {
                continue;
            }
            let page = fs::read_to_string(entry.path()).expect("a page");
            let path = format!("{folder}/{name}");
            for mark in page.split("\n<!-- generated: ").skip(1) {
                let mark = mark.split(' ').next().unwrap_or_default();
                let known = tables.iter().any(|(page, name, _)| *page == path && *name == mark);
                assert!(known, "{path}: {mark}");
            }
        }
    }
}

/// INFO has exactly the fields of the table.
#[test]
fn info_has_the_fields_that_are_described() {
    let section = text(&Server::start().run("INFO seckill"));
    let shown = section.lines().filter_map(|line| line.strip_prefix("seckill_"));
    let shown: Vec<_> = shown.filter_map(|line| line.split(':').next()).collect();
    let known = info::FIELDS.map(|field| field.name.to_str().expect("ASCII"));
    assert_eq!(shown, known);
}

#[test]
fn a_table_is_put_between_its_marks() {
    let page = "a\n<!-- generated: x -->\nold\n<!-- end of generated -->\nb\n";
    let wanted = "a\n<!-- generated: x -->\n\n| t |\n\n<!-- end of generated -->\nb\n";
    assert_eq!(with_table(page, "x", "| t |\n").as_deref(), Some(wanted));
    assert_eq!(with_table(wanted, "x", "| t |\n").as_deref(), Some(wanted));
    assert_eq!(with_table(page, "y", ""), None);
    assert_eq!(comment("# A b.\n# c\nx.y 1\n", "x.y"), "A b");
}

/// An argument as the syntax at the top of a page writes it.
fn written(argument: &Argument) -> String {
    let parts = || argument.parts.iter().map(written).collect::<Vec<_>>();
    let value = match &*argument.kind {
        "oneof" => parts().join("|"),
        "block" => parts().join(" "),
        "pure-token" => String::new(),
        _ => argument.name.clone(),
    };
    let words = argument.behind_token(&value);
    let words = if argument.is_multiple { format!("{words} [{words} ...]") } else { words };
    if argument.is_optional { format!("[{words}]") } else { words }
}

/// A syntax without the names of what follows a token: pages name the unit there.
fn shape(syntax: &str) -> String {
    let mut after_token = false;
    let words = syntax.split_whitespace().map(|word| {
        let name = word.trim_matches(['[', ']']);
        let is_value = after_token && !name.contains('|');
        let last = name.split('|').next_back().unwrap_or_default();
        after_token = last.bytes().all(|letter| letter.is_ascii_uppercase());
        if is_value { word.replace(name, "n") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_begin_with_the_syntax() {
    let server = Server::start();
    let mut wrong = Vec::new();
    for Declared { name, arguments, .. } in Declared::all(&server) {
        let arguments = arguments.iter().map(written);
        let wanted = arguments.fold(name.to_uppercase(), |line, words| format!("{line} {words}"));
        let page = page(format!("docs/commands/{name}.md"));
        let line = page.lines().nth(2).and_then(|line| line.strip_prefix('`')?.strip_suffix('`'));
        let line = line.map(shape).unwrap_or_default();
        wrong.extend((line != shape(&wanted)).then(|| format!("{line}\n{}", shape(&wanted))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
