//! The documentation is true: its sessions run, and its tables name what the server has.

use std::fs;
use std::mem::take;
use std::path::{Path, PathBuf};

use crate::config::CONFIGS;
use crate::harness::{Server, module};
use crate::observe::words;
use crate::transcript::{Lines, argv, compare, compare_in_resp3};
use kit::pages::page;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sessions of a page: the contents of its blocks marked `redis-cli`, and of those for a shell
/// that say each reply in a comment.
fn sessions(page: &str) -> Vec<String> {
    let mut sessions = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in page.lines() {
        match (&mut open, line.trim()) {
            (None, language @ ("```redis-cli" | "```sh")) => open = Some((language, String::new())),
            (Some((language, session)), "```") => {
                let session = take(session);
                sessions.extend(if *language == "```sh" {
                    pasted(&session)
                } else {
                    Some(session)
                });
                open = None;
            }
            (Some((_, session)), _) => *session += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    assert!(open.is_none(), "a session is not closed");
    sessions
}

/// A session that can be pasted into a shell, as one of redis-cli.
fn pasted(shell: &str) -> Option<String> {
    let lines = shell.lines().map(|line| {
        let (typed, reply) = line.strip_prefix("redis-cli ")?.split_once(" # ")?;
        Some(format!("> {}\n{reply}\n", typed.trim()))
    });
    lines.collect()
}

/// Runs the sessions of a page in order, on one fresh server.
fn run_page(path: &Path) -> usize {
    let page = page(path);
    let sessions = sessions(&page);
    let server = Server::start();
    let mut client = server.client();
    if path.ends_with("functions.md") {
        crate::functions::load(&mut client);
    }
    for session in &sessions {
        if let Err(difference) = compare(&mut client, session, Lines::Whole) {
            panic!("{}:\n{difference}", path.display());
        }
    }
    sessions.len()
}

/// Runs the sessions of a page on a fresh server, in RESP3. Returns how many replies were maps.
fn run_page_in_resp3(path: &Path) -> usize {
    let server = Server::start();
    let mut client = server.client();
    let hello = client.run("HELLO 3");
    assert!(matches!(hello, redis::Value::Map(_)), "{hello:?}");
    let run = |session: &String| {
        compare_in_resp3(&mut client, session)
            .unwrap_or_else(|difference| panic!("{} in RESP3:\n{difference}", path.display()))
    };
    sessions(&page(path)).iter().map(run).sum()
}

#[test]
fn every_command_has_a_page_whose_sessions_run() {
    let mut commands = words(Server::start().run("COMMAND LIST FILTERBY MODULE seckill"));
    let pages = fs::read_dir(root().join("docs/commands")).expect("docs/commands").flatten();
    let pages = pages.map(|entry| entry.file_name().into_string().expect("a name"));
    let mut pages: Vec<_> = pages.filter(|name| name != "README.md").collect();
    commands.sort();
    pages.sort();
    assert_eq!(pages, commands.iter().map(|name| format!("{name}.md")).collect::<Vec<_>>());
    for name in commands {
        let path = Path::new("docs/commands").join(format!("{name}.md"));
        let shown = sessions(&page(&path)).concat();
        assert!(shown.contains(&name.to_uppercase()), "{} does not show it", path.display());
        assert!(run_page(&path) > 0);
    }
}

#[test]
fn sessions_of_all_other_pages_run() {
    let mut pages: Vec<PathBuf> = ["README.md", "README.zh-CN.md"].map(PathBuf::from).to_vec();
    let docs = fs::read_dir(root().join("docs")).expect("docs").flatten();
    pages.extend(
        docs.map(|entry| entry.path()).filter(|path| path.extension() == Some("md".as_ref())),
    );
    let run: usize = pages.iter().map(|page| run_page(page)).sum();
    assert!(run > 0, "README shows no session");
}

/// Both protocols give the same replies, with maps for pairs in RESP3.
#[test]
fn sessions_run_in_resp3_too() {
    let folders = ["docs", "docs/commands"].map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("docs").flatten());
    let pages =
        files.map(|entry| entry.path()).filter(|path| path.extension() == Some("md".as_ref()));
    let maps: usize = pages.map(|page| run_page_in_resp3(&page)).sum();
    assert!(maps > 10, "only {maps} maps");
}

/// The lines of redis.conf at the root that are not comments, as words.
fn conf_lines() -> Vec<Vec<String>> {
    let conf = page("redis.conf");
    let lines = conf.lines().map(str::trim);
    let settings = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let text = |word: Vec<u8>| String::from_utf8(word).expect("UTF-8 in redis.conf");
    settings.map(|line| argv(line).into_iter().map(text).collect()).collect()
}

#[test]
fn redis_conf_lists_every_config_at_its_default() {
    let lines = conf_lines();
    for (name, default, _) in CONFIGS {
        let wanted = [name.to_owned(), default.to_owned()];
        assert!(lines.contains(&wanted.to_vec()), "redis.conf has no line {name} {default}");
    }
    let ours = lines.iter().filter(|line| line[0].starts_with("seckill."));
    assert_eq!(ours.count(), CONFIGS.len(), "a line of a config that is none");
    let conf = page("redis.conf");
    let all: Vec<_> = conf.lines().collect();
    for pair in all.windows(2).filter(|pair| pair[1].starts_with("seckill.")) {
        assert!(pair[0].starts_with("# "), "no comment above: {}", pair[1]);
    }
}

#[test]
fn redis_conf_runs_as_it_is() {
    let lines = conf_lines();
    let has = |name: &str, value: &str| {
        lines.iter().any(|l| l[0] == name && l[1..].contains(&value.to_owned()))
    };
    // The server changes into dir before it loads modules.
    let value = |name: &str| {
        let line = lines.iter().find(|line| line[0] == name);
        line.map_or(".", |line| line[1].as_str()).trim_start_matches("./").to_owned()
    };
    let module_path = Path::new(&value("dir")).join(value("loadmodule"));
    assert_eq!(module_path, Path::new("target/release/libseckill.so"));
    assert!(has("bind", "127.0.0.1"), "redis.conf must listen on loopback");
    assert!(has("appendonly", "yes") && has("appendfsync", "everysec"));
    // The file without the settings that would collide with a server that is running.
    let ours =
        ["loadmodule", "port", "dir", "bind", "logfile", "pidfile", "daemonize", "unixsocket"];
    let mut builder = Server::with().without_module();
    for line in lines.iter().filter(|line| !ours.contains(&line[0].as_str())) {
        let quoted: Vec<_> = line.iter().map(|word| format!("\"{word}\"")).collect();
        builder = builder.config(quoted.join(" "));
    }
    let server = builder.config(format!("loadmodule {}", module().display())).start();
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 alice o1\n0");
    for (name, default, _) in CONFIGS {
        assert_eq!(words(server.call(&["CONFIG", "GET", name])), [name, default]);
    }
}

#[test]
fn the_chinese_pages_list_every_config_at_its_default() {
    let page = page("docs/zh-CN/configuration.md");
    for (name, default, _) in CONFIGS {
        let has_name = |line: &&str| line.starts_with('|') && line.contains(&format!("`{name}`"));
        let row = page.lines().find(has_name).unwrap_or_else(|| panic!("no row of `{name}`"));
        let shown = if default.is_empty() { "| empty |" } else { &format!("`{default}`") };
        assert!(row.contains(shown), "{name} at `{default}`: {row}");
    }
}

#[test]
fn the_chinese_pages_list_every_command() {
    let page = page("docs/zh-CN/README.md");
    let server = Server::start();
    for name in words(server.run("COMMAND LIST FILTERBY MODULE seckill")) {
        assert!(page.contains(&name.to_uppercase()), "no {name}");
    }
}
