//! Scripts as text: files of Lua, folders of them, and other source text with Lua in it.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use regex::{Captures, Regex};
use rustix::fs::OFlags;
use rustix::io::Errno;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::java::strings;
use crate::reply::Reply;
use crate::template::Field;

/// No source text is longer.
const FILE_LEN_MAX: u64 = 1 << 20;

pub struct Source {
    /// The name of the file without folders, escaped; with the line, if it is in other source text.
    pub name: String,
    pub text: Vec<u8>,
    /// The text without comments. A string that contains two dashes loses its end, which doesn't
    /// matter here.
    pub code: String,
    pub keys: usize,
    pub args: usize,
    /// Whether it also accesses KEYS or ARGV with a computed index: `ARGV[i]`, `#ARGV`,
    /// `unpack(ARGV)`.
    pub reckons: bool,
    /// Whether other source text joins values into it that are only known at run time.
    pub is_joined: bool,
    /// Whether other source text joins something before or after it.
    pub is_part: bool,
}

impl Source {
    /// All scripts of a file or, sorted, of a folder; with `from_java` also those in Java, Kotlin
    /// and Go. In folders only regular files are read, and what else has such a name is counted.
    pub fn read(path: &Path, from_java: bool, skipped: &mut usize) -> Result<Vec<Self>> {
        let kind = fs::symlink_metadata(path).with_context(|| shown(path))?.file_type();
        if kind.is_dir() {
            let entries = fs::read_dir(path).with_context(|| shown(path))?;
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            let mut all = Vec::new();
            for path in paths {
                let kind = fs::symlink_metadata(&path).with_context(|| shown(&path))?.file_type();
                let is_source = has_ending(&path, &["lua"]) || from_java && is_java(&path);
                if kind.is_dir() || is_source && kind.is_file() {
                    all.extend(Self::read(&path, from_java, skipped)?);
                } else if is_source || kind.is_symlink() {
                    *skipped += 1;
                }
            }
            return Ok(all);
        }
        let text = read_regular(path).with_context(|| shown(path))?;
        let name = sanitize_bytes(path.file_name().unwrap_or(path.as_os_str()).as_bytes());
        if from_java && is_java(path) {
            let text = String::from_utf8_lossy(&text);
            let found = strings(&text).into_iter().map(|found| Self {
                is_joined: found.is_joined,
                is_part: found.is_part,
                ..Self::of(format!("{name}:{}", found.line), found.lua.into())
            });
            return Ok(found.collect());
        }
        Ok(vec![Self::of(name, text)])
    }

    pub fn of(name: String, text: Vec<u8>) -> Self {
        let comment = regex(r"(?s)--\[\[.*?(?:\]\]|$)|--[^\n]*");
        let code = comment.replace_all(&String::from_utf8_lossy(&text), "").into_owned();
        let (keys, keys_reckoned) = highest(&code, "KEYS");
        let (args, args_reckoned) = highest(&code, "ARGV");
        // The number of computed ones is unknown: a few too many do no harm.
        let keys = if keys_reckoned { keys.max(2) } else { keys };
        let args = if args_reckoned { args.max(8) } else { args };
        let reckons = keys_reckoned || args_reckoned;
        Self { name, text, code, keys, args, reckons, is_joined: false, is_part: false }
    }

    /// The fields of arguments that it decodes as JSON, if it uses nothing else of them.
    pub fn fields(&self) -> Vec<Field> {
        let texts = regex(r#"(?s)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*""#);
        let code = texts.replace_all(&self.code, "''");
        let decode = r"(?:(\w+)\s*=\s*)?cjson\.decode\(\s*([^)]*?)\s*\)";
        let decode = regex(&format!("{decode}(?:{MEMBER})?"));
        let argument = regex(r"^ARGV\[\s*(\d+)\s*\]");
        let argument = |text: &str| argument.captures(text)?[1].parse::<usize>().ok();
        let mut fields: Vec<Field> = Vec::new();
        for found in decode.captures_iter(&code) {
            // The argument may be in a local variable.
            let variable = format!("local {} = ", &found[2]);
            let mut values =
                code.match_indices(&variable).map(|(at, _)| &code[at + variable.len()..]);
            let arg = argument(&found[2]).or_else(|| values.find_map(argument));
            let Some(arg) = arg else { continue };
            let names = match found.get(1) {
                Some(variable) => members(&code, variable.as_str()).unwrap_or_default(),
                None => member(&found, 3).into_iter().collect(),
            };
            for name in names {
                if fields.iter().all(|field| (field.arg, field.name) != (arg, name)) {
                    // Leaked on purpose: the program soon ends.
                    let name = name.to_owned().leak();
                    fields.push(Field { arg, number: fields.len() + 1, name });
                }
            }
        }
        fields
    }

    /// Short quoted words, which may be fields or states; not the names of commands.
    pub fn literals(&self) -> Vec<Vec<u8>> {
        let text = regex(r#"(call\(\s*)?(?:'([^']*)'|"([^"]*)")"#);
        let plain = regex(r"^[\w.-]{1,24}$");
        let mut found: Vec<Vec<u8>> = Vec::new();
        for text in text.captures_iter(&self.code).filter(|text| text.get(1).is_none()) {
            let word = text.get(2).or(text.get(3)).map_or("", |word| word.as_str());
            if plain.is_match(word) && !found.iter().any(|known| known == word.as_bytes()) {
                found.push(word.into());
            }
        }
        found
    }

    /// Whether its text calls a command, in upper or lower case.
    pub fn names(&self, command: &str) -> bool {
        let code = self.code.to_lowercase();
        ["'", "\""].iter().any(|quote| code.contains(&format!("{quote}{command}{quote}")))
    }

    /// Whether it takes the answer of a command as a condition without comparing it: 0 is true.
    pub fn takes_for_true(&self, command: &str) -> bool {
        let code = self.code.to_lowercase();
        let call = format!(r#"(?:(\w+)\s*=\s*)?[\w.]*call\(\s*['"]{command}['"]"#);
        let condition = regex(r"^\s*(?:then|and|or)\b");
        regex(&call).captures_iter(&code).any(|call| {
            let arguments = &code[call.get_match().end()..];
            let (mut open, mut quote) = (1, None);
            let end = arguments.find(|c| {
                match (quote, c) {
                    (Some(other), _) => quote = quote.filter(|_| c != other),
                    (None, '\'' | '"') => quote = Some(c),
                    (None, _) => open += i32::from(c == '(') - i32::from(c == ')'),
                }
                open == 0
            });
            let after = end.map_or("", |end| &arguments[end + 1..]);
            let uses = call.get(1).map_or_else(Vec::new, |word| uses(after, word.as_str()));
            condition.is_match(after) || uses.iter().any(|(_, after)| condition.is_match(after))
        })
    }

    /// Whether a word of its name or text ends in "lock", other than "block" and "clock", or is the
    /// Chinese word for it.
    pub fn is_of_locks(&self) -> bool {
        let text = format!("{} {}", self.name, String::from_utf8_lossy(&self.text)).to_lowercase();
        let mut words = text.split(|c: char| !c.is_alphabetic());
        words.any(|word| word.ends_with("lock") && word != "block" && word != "clock")
            || text.contains('\u{9501}')
    }

    pub fn draws_lots(&self) -> bool {
        self.code.contains("math.random")
    }

    /// A command that it calls and that is a module's, or that many servers don't have yet, in
    /// lower case.
    pub fn foreign_command(&self) -> Option<String> {
        const NEWER: &str = " hexpire hpexpire hexpireat hpexpireat httl hpttl hpersist hgetex \
            hsetex hgetdel delifeq delex digest msetex xdelex xackdel ";
        let code = self.code.to_lowercase();
        let call = regex(r#"call\(\s*['"]([^'"]*)"#);
        let mut calls = call.captures_iter(&code).map(|call| call[1].to_owned());
        calls.find(|name| name.contains('.') || NEWER.contains(&format!(" {name} ")))
    }

    /// An error of the script with its line, counted from 1, escaped.
    pub fn error(&self, reply: &Reply) -> String {
        let Reply::Error(text, Some(number)) = reply else { return sanitize(&reply.text()) };
        let line = self.text.split(|byte| *byte == b'\n').nth(number.wrapping_sub(1));
        let line = sanitize_bytes(line.unwrap_or_default().trim_ascii());
        format!("{}, in line {number}: {line}", sanitize(text))
    }
}

fn shown(path: &Path) -> String {
    sanitize_bytes(path.as_os_str().as_bytes())
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|own| endings.iter().any(|ending| own == *ending))
}

fn is_java(path: &Path) -> bool {
    has_ending(path, &["java", "kt", "go"])
}

/// The contents of a regular file: opening a pipe or a device could wait forever, and a link could
/// lead to one, or back into its own folder.
fn read_regular(path: &Path) -> Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => anyhow!("it is a link: name the file itself"),
        Some(Errno::NXIO) => anyhow!("it is no regular file"),
        _ => error.into(),
    })?;
    ensure!(file.metadata()?.is_file(), "it is no regular file");
    let mut text = Vec::new();
    file.take(FILE_LEN_MAX + 1).read_to_end(&mut text)?;
    ensure!(text.len() as u64 <= FILE_LEN_MAX, "it is longer than {FILE_LEN_MAX} bytes");
    Ok(text)
}

/// A pattern of ours, which compiles: no name of a script is part of it, which may be very long.
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}

/// `.name`, and what follows if it is not the name alone that is read.
const MEMBER: &str = r"\.(\w+)(\.\.|[.\[(])?";

/// The name that MEMBER has matched at this group, if no field of that is read.
fn member<'c>(found: &Captures<'c>, group: usize) -> Option<&'c str> {
    let is_alone = found.get(group + 1).is_none_or(|rest| rest.as_str() == "..");
    found.get(group).filter(|_| is_alone).map(|name| name.as_str())
}

/// What stands before and behind each use of a name.
fn uses<'c>(code: &'c str, name: &str) -> Vec<(&'c str, &'c str)> {
    let words = regex(r"\w+");
    let uses = words.find_iter(code).filter(|word| word.as_str() == name);
    uses.map(|word| (&code[..word.start()], &code[word.end()..])).collect()
}

/// The names of the fields read from a table; none if the table is used in another way.
fn members<'c>(code: &'c str, table: &str) -> Option<Vec<&'c str>> {
    let (made, field) = (regex(r"^\s*=[^=]"), regex(&format!("^{MEMBER}")));
    let uses = uses(code, table).into_iter();
    let read = uses.filter(|(before, after)| !before.ends_with('.') && !made.is_match(after));
    read.map(|(_, after)| member(&field.captures(after)?, 1)).collect()
}

/// The highest constant index of a table, and whether it is used in any other way.
fn highest(code: &str, table: &str) -> (usize, bool) {
    let (mut highest, mut reckoned) = (0, false);
    let index = regex(r"^\s*\[\s*(\d+)\s*\]");
    for (_, after) in uses(code, table) {
        match index.captures(after).and_then(|index| index[1].parse::<usize>().ok()) {
            Some(number) => highest = highest.max(number),
            None => reckoned = true,
        }
    }
    (highest, reckoned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> (usize, usize, bool) {
        let source = Source::of("a.lua".into(), text.into());
        (source.keys, source.args, source.reckons)
    }

    #[test]
    fn a_name_may_be_as_long_as_a_script() {
        let name = "a".repeat(400_000);
        let json = format!("local {name} = ARGV[2] local t = cjson.decode({name}) f(t.user)");
        let fields = Source::of("a.lua".into(), json.into()).fields();
        assert_eq!(
            fields.iter().map(|field| (field.arg, field.name)).collect::<Vec<_>>(),
            [(2, "user")]
        );
        let table = format!("local {name} = cjson.decode(ARGV[1]) return {name}.user");
        assert_eq!(Source::of("a.lua".into(), table.into()).fields().len(), 1);
        let taken = format!("local {name} = redis.call('get', KEYS[1]) if {name} then f() end");
        assert!(Source::of("a.lua".into(), taken.into()).takes_for_true("get"));
    }

    #[test]
    fn tables_are_counted_outside_of_comments() {
        assert_eq!(counts("local a, b = ARGV[1], ARGV[ 3 ] -- ARGV[4]\nKEYS [2]"), (2, 3, false));
        assert_eq!(counts("--[[ ARGV[9]\nKEYS[9] ]] return MY_KEYS[7]"), (0, 0, false));
        assert_eq!(counts("for i = 1, #ARGV do f(ARGV[i]) end"), (0, 8, true));
        assert_eq!(counts(""), (0, 0, false));
    }

    #[test]
    fn a_bare_answer_is_a_condition() {
        let is_bare = |text: &str| Source::of("a".into(), text.into()).takes_for_true("exists");
        for text in [
            "if redis.call('EXISTS', KEYS[1]) then",
            "if a and redis.call(\"exists\", f(KEYS[1]) .. ')') or b then",
            "local has = redis.call('exists', KEYS[1])\nif x == 1 and has then",
        ] {
            assert!(is_bare(text), "{text}");
        }
        for text in [
            "if redis.call('EXISTS', KEYS[1]) == 1 then",
            "local has = redis.call('exists', KEYS[1])\nif has == 1 then",
            "return redis.call('exists', KEYS[1])",
            "if redis.call('hexists', KEYS[1], 'a') then",
        ] {
            assert!(!is_bare(text), "{text}");
        }
    }

    #[test]
    fn fields_of_json_are_found() {
        let fields = |text: &str| {
            let fields = Source::of("a".into(), text.into()).fields();
            fields.iter().map(|field| format!("{}.{}", field.arg, field.name)).collect::<Vec<_>>()
        };
        let text =
            "local o = cjson.decode(ARGV[2])\nif o.user == nil or o.units > 1 then f(o.user) end";
        assert_eq!(fields(text), ["2.user", "2.units"]);
        let text =
            "local s = ARGV[1]\nlocal o = cjson.decode(s)\nreturn o.id .. cjson.decode(ARGV[2]).at";
        assert_eq!(fields(text), ["1.id", "2.at"]);
        for text in ["for k in pairs(o)", "return o.a.b", "return #o", "return o[1]", "return 1"] {
            assert!(
                fields(&format!("local o = cjson.decode(ARGV[1]) {text}")).is_empty(),
                "{text}"
            );
        }
    }
}
