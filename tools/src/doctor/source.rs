//! Scripts as text: files of Lua, folders of them, and Lua in the strings of Java, Kotlin and Go.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub struct Source {
    /// The name of the file without folders; with the line, where it is in other source text.
    pub name: String,
    pub text: Vec<u8>,
    pub keys: usize,
    pub args: usize,
    /// Whether it also takes KEYS or ARGV by reckoning: `ARGV[i]`, `#ARGV`, `unpack(ARGV)`.
    pub reckons: bool,
}

impl Source {
    /// All scripts of a file or, sorted, of a folder; those in Java, Kotlin and Go if it is asked.
    pub fn read(path: &Path, from_java: bool) -> Result<Vec<Self>> {
        let ends = |ending: &[&str]| {
            path.extension().is_some_and(|own| ending.iter().any(|ending| own == *ending))
        };
        if path.is_dir() {
            let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            let mut all = Vec::new();
            for path in paths {
                let is_source = path.extension().is_some_and(|own| {
                    own == "lua" || from_java && (own == "java" || own == "kt" || own == "go")
                });
                if path.is_dir() || is_source {
                    all.extend(Self::read(&path, from_java)?);
                }
            }
            return Ok(all);
        }
        let text = fs::read(path).with_context(|| path.display().to_string())?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        if from_java && ends(&["java", "kt", "go"]) {
            let text = String::from_utf8_lossy(&text);
            let found = strings(&text).into_iter();
            let found = found.map(|(line, lua)| Self::of(format!("{name}:{line}"), lua.into()));
            return Ok(found.collect());
        }
        Ok(vec![Self::of(name, text)])
    }

    fn of(name: String, text: Vec<u8>) -> Self {
        let code = without_comments(&String::from_utf8_lossy(&text));
        let (keys, keys_reckoned) = highest(&code, "KEYS");
        let (args, args_reckoned) = highest(&code, "ARGV");
        // Nobody can count those: some more do no harm.
        let keys = if keys_reckoned { keys.max(2) } else { keys };
        let args = if args_reckoned { args.max(8) } else { args };
        Self { name, text, keys, args, reckons: keys_reckoned || args_reckoned }
    }

    /// Short words in quotes, which may be fields or states; not the names of commands.
    pub fn literals(&self) -> Vec<Vec<u8>> {
        let code = without_comments(&String::from_utf8_lossy(&self.text));
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut rest = code.as_str();
        while let Some(at) = rest.find(['\'', '"']) {
            let (before, quoted) = rest.split_at(at);
            let quote = quoted.chars().next().unwrap_or('"');
            let Some((word, after)) = quoted[1..].split_once(quote) else { break };
            let is_command = before.trim_end().ends_with("call(");
            let plain = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
            let fits = (1..=24).contains(&word.len()) && word.chars().all(plain);
            if fits && !is_command && !found.iter().any(|known| known == word.as_bytes()) {
                found.push(word.into());
            }
            rest = after;
        }
        found
    }

    /// Whether its text calls a command, in any case.
    pub fn names(&self, command: &str) -> bool {
        let code = without_comments(&String::from_utf8_lossy(&self.text)).to_lowercase();
        ["'", "\""].iter().any(|quote| code.contains(&format!("{quote}{command}{quote}")))
    }

    /// A command of a module, or one that is newer than many servers, in lower case.
    pub fn foreign_command(&self) -> Option<String> {
        const NEWER: &str = " hexpire hpexpire hexpireat hpexpireat httl hpttl hpersist hgetex \
            hsetex hgetdel delifeq delex digest msetex xdelex xackdel ";
        let code = without_comments(&String::from_utf8_lossy(&self.text)).to_lowercase();
        let mut calls = code.split("call(").skip(1).filter_map(|rest| {
            let rest = rest.trim_start().strip_prefix(['\'', '"'])?;
            rest.split(['\'', '"']).next().map(str::to_owned)
        });
        calls.find(|name| name.contains('.') || NEWER.contains(&format!(" {name} ")))
    }

    /// A line of it, counted from 1, shown safely.
    pub fn line(&self, number: usize) -> String {
        let text = String::from_utf8_lossy(&self.text);
        text.lines().nth(number.wrapping_sub(1)).unwrap_or_default().trim().to_owned()
    }
}

/// Strings of Java, Kotlin or Go that call Redis, each with its line: text blocks, raw strings, and
/// plain strings that are joined by `+`.
fn strings(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut joined = (0, String::new());
    let mut rest = code;
    loop {
        let gap = rest.find(['"', '`']).unwrap_or(rest.len());
        let (between, quoted) = rest.split_at(gap);
        let is_joint = between.chars().all(|c| c.is_whitespace() || c == '+');
        if !is_joint || quoted.is_empty() {
            if joined.1.contains("redis.call") || joined.1.contains("redis.pcall") {
                found.push(std::mem::take(&mut joined));
            }
            joined = (0, String::new());
        }
        if quoted.is_empty() {
            return found;
        }
        if joined.0 == 0 {
            joined.0 = code[..code.len() - quoted.len()].matches('\n').count() + 1;
        }
        let block = ["\"\"\"", "`"].into_iter().find(|quote| quoted.starts_with(quote));
        rest = match block {
            Some(quote) => {
                let (text, after) =
                    quoted[quote.len()..].split_once(quote).unwrap_or((&quoted[quote.len()..], ""));
                joined.1 += text;
                after
            }
            None => plain_string(&quoted[1..], &mut joined.1),
        };
    }
}

/// Takes a string with escapes, and gives what is behind its closing quote.
fn plain_string<'a>(text: &'a str, into: &mut String) -> &'a str {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return &text[at + 1..],
            '\\' => into.push(match letters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, 'r')) => '\r',
                Some((_, other)) => other,
                None => ' ',
            }),
            other => into.push(other),
        }
    }
    ""
}

/// The highest number that a table is asked for, and whether it is used in any other way.
fn highest(code: &str, table: &str) -> (usize, bool) {
    let (mut highest, mut reckoned) = (0, false);
    for (at, _) in code.match_indices(table) {
        let inside = |letter: char| letter.is_alphanumeric() || letter == '_';
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let after = code.get(at + table.len()..).unwrap_or_default();
        if before.is_some_and(inside) || after.starts_with(inside) {
            continue;
        }
        let index = after.trim_start().strip_prefix('[').and_then(|rest| rest.split(']').next());
        match index.and_then(|index| index.trim().parse::<usize>().ok()) {
            Some(number) => highest = highest.max(number),
            None => reckoned = true,
        }
    }
    (highest, reckoned)
}

/// Lua without `-- ...` and `--[[ ... ]]`. Strings that hold two dashes lose their end, which
/// matters to nobody who only looks for tables.
fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("--") {
        code += before;
        rest = match comment.strip_prefix("[[") {
            Some(long) => long.split_once("]]").map_or("", |(_, after)| after),
            None => comment.find('\n').map_or("", |end| &comment[end..]),
        };
    }
    code + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> (usize, usize, bool) {
        let source = Source::of("a.lua".into(), text.into());
        (source.keys, source.args, source.reckons)
    }

    #[test]
    fn tables_are_counted_outside_of_comments() {
        assert_eq!(counts("local a, b = ARGV[1], ARGV[ 3 ] -- ARGV[4]\nKEYS [2]"), (2, 3, false));
        assert_eq!(counts("--[[ ARGV[9]\nKEYS[9] ]] return MY_KEYS[7]"), (0, 0, false));
        assert_eq!(counts("for i = 1, #ARGV do f(ARGV[i]) end"), (0, 8, true));
        assert_eq!(counts(""), (0, 0, false));
    }

    #[test]
    fn scripts_are_found_in_the_strings_of_java_and_go() {
        let java = "class A {\n String a = \"redis.call('get', \" +\n  \"\\\"k\\\")\\n\";\n\
            String b = \"\"\"\n  redis.call('x')\n  \"\"\"; String c = \"none\";";
        let found = strings(java);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], (2, "redis.call('get', \"k\")\n".into()));
        assert_eq!(found[1].0, 4);
        let go = "var s = redis.NewScript(`redis.call('a')`)";
        assert_eq!(strings(go), [(1, "redis.call('a')".to_owned())]);
    }

    #[test]
    fn words_in_quotes_are_fields_and_no_commands() {
        let text = "local s = redis.call('HGET', KEYS[1], 'left') if s == 'off' then end -- 'x'";
        let words = Source::of("a".into(), text.into()).literals();
        assert_eq!(words, [&b"left"[..], b"off"]);
    }
}
