//! Scripts as text: files of Lua, folders of them, and Lua in the strings of Java and Kotlin, with
//! the bytes that a program sends: text blocks, raw strings, escapes and joins of constants.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use itertools::Itertools;
use regex::Regex;
use rustix::fs::OFlags;
use rustix::io::Errno;
use seckill_tools::command_line::quoted;
use seckill_tools::sanitize::sanitize_bytes;

/// No source text is longer.
const FILE_LEN_MAX: u64 = 1 << 20;

#[derive(Default)]
pub struct Source {
    /// The name of the file without folders, escaped; with the line, if it is in other source text.
    pub name: String,
    /// Of the file, as it was given.
    pub path: PathBuf,
    pub text: Vec<u8>,
    /// Whether it is in other source text, and whether that puts it together at run time.
    pub is_inside: bool,
    pub is_joined: bool,
    /// Whether a byte order mark was before it, which some editors put there and no server takes.
    pub is_marked: bool,
}

impl Source {
    /// All scripts of files or, sorted, of folders; with `from_java` also those in Java and Kotlin.
    /// In folders only regular files are read, and what else has such a name is counted.
    pub fn read_all(given: &[PathBuf], from_java: bool) -> Result<(Vec<Self>, usize)> {
        let (mut all, mut skipped) = (Vec::new(), 0);
        let given = given.iter().rev().map(|path| (path.clone(), true));
        let mut rest: Vec<(PathBuf, bool)> = given.collect();
        while let Some((path, is_given)) = rest.pop() {
            let kind = fs::symlink_metadata(&path).with_context(|| shown(&path))?.file_type();
            let is = |name: &str| path.extension().is_some_and(|own| own == name);
            let is_code = from_java && (is("java") || is("kt"));
            if kind.is_dir() {
                let entries = fs::read_dir(&path).with_context(|| shown(&path))?;
                let paths = entries.flatten().map(|entry| entry.path()).sorted().rev();
                rest.extend(paths.map(|path| (path, false)));
            } else if is_given || kind.is_file() && (is("lua") || is_code) {
                let mut text = read_regular(&path).with_context(|| shown(&path))?;
                let is_marked = text.starts_with(b"\xef\xbb\xbf");
                text.drain(..if is_marked { 3 } else { 0 });
                let name = sanitize_bytes(path.file_name().unwrap_or_default().as_bytes());
                let is_kotlin = is("kt");
                let whole = Self { name, path, text, is_marked, ..Self::default() };
                if !is_code {
                    all.push(whole);
                    continue;
                }
                for one in strings(&String::from_utf8_lossy(&whole.text), is_kotlin)? {
                    let (name, text) = (format!("{}:{}", whole.name, one.line), one.lua.into());
                    let path = whole.path.clone();
                    let own = Self { name, path, text, is_inside: true, ..Self::default() };
                    all.push(Self { is_joined: one.is_joined, ..own });
                }
            } else if kind.is_symlink() || is("lua") || is_code {
                skipped += 1;
            }
        }
        Ok((all, skipped))
    }

    /// Whether a word of its name or text ends in "lock", but not in "block" or "clock", or is the
    /// Chinese word for it.
    pub fn is_of_locks(&self) -> bool {
        let others = ["block", "clock"];
        let is_other = |word: &str| others.iter().any(|other| word.ends_with(other));
        let is_lock = |word: &str| word.ends_with("lock") && !is_other(word);
        let text = format!("{} {}", self.name, String::from_utf8_lossy(&self.text)).to_lowercase();
        text.split(|c: char| !c.is_alphabetic()).any(is_lock) || text.contains('\u{9501}')
    }
}

fn shown(path: &Path) -> String {
    sanitize_bytes(path.as_os_str().as_bytes())
}

/// A path as a word of a shell.
pub fn quoted_path(path: &Path) -> String {
    quoted(&shown(path))
}

/// The contents of a regular file: opening a pipe or a device could wait forever, and a link could
/// lead to one, or back into its own folder.
fn read_regular(path: &Path) -> Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
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

/// Lua in other source text.
#[derive(Default)]
pub struct Found {
    /// The line where it begins, from 1.
    pub line: usize,
    pub lua: String,
    /// Whether it contains values that are only known at run time.
    pub is_joined: bool,
}

/// Strings that call Redis.
pub fn strings(code: &str, is_kotlin: bool) -> Result<Vec<Found>> {
    // Comments, and a quote between single ones, which begins no string.
    const SKIPPED: &str = r#"//[^\n]*|/\*.*?(?:\*/|\z)|'\\?"'"#;
    const SHORT: &str = r#""((?:\\.|[^"\\\n])*)"(?:\s*(\.trimIndent\(\)))?"#;
    let long = if is_kotlin { ".*?" } else { r"(?:\\.|[^\\])*?" };
    let long = format!(r#""""({long})"""(?:\s*(\.trimIndent\(\)))?"#);
    let lexer = Regex::new(&format!("(?s){SKIPPED}|{long}|{SHORT}"))?;
    let code = code.replace("\r\n", "\n");
    let (mut found, mut open) = (Vec::new(), Found::default());
    let (mut between, mut at, mut is_text) = (String::new(), 0, false);
    for token in lexer.captures_iter(&code) {
        let whole = token.get_match();
        between += &code[at..whole.start()];
        at = whole.end();
        let Some(raw) = token.get(1).or(token.get(3)).map(|raw| raw.as_str()) else {
            between.push(' ');
            continue;
        };
        let joint = between.trim();
        let value = |c: char| c.is_alphanumeric() || "_.()+".contains(c) || c.is_whitespace();
        let is_value = joint.len() > 2 && joint.starts_with('+') && joint.ends_with('+');
        if is_value && joint.chars().all(value) && open.line > 0 {
            open.is_joined = true;
        } else if !joint.is_empty() && joint != "+" {
            // What is joined to something else is not all that is sent.
            open.is_joined |= joint.starts_with('+');
            found.push(std::mem::take(&mut open));
            // A text that is appended, or follows another one in a list, may be one line of many.
            let follows = joint == "," && is_text;
            open.is_joined = joint.ends_with('+') || joint.ends_with("append(") || follows;
        }
        between.clear();
        is_text = raw.contains(' ');
        if open.line == 0 {
            open.line = code[..whole.start()].matches('\n').count() + 1;
        }
        let (mut text, is_unknown) = match token.get(1) {
            Some(_) if is_kotlin => (raw.to_owned(), false),
            Some(_) => unescaped(&text_block(raw)),
            None => unescaped(raw),
        };
        if token.get(2).or(token.get(4)).is_some() {
            text = trimmed(&text);
        }
        open.lua += &text;
        // Whatever else is done to it at run time is not known.
        let is_changed = code[at..].trim_start().starts_with('.');
        open.is_joined |= is_unknown || is_changed || is_kotlin && raw.contains('$');
    }
    open.is_joined |= (between + &code[at..]).trim().starts_with('+');
    found.push(open);
    found.retain(|one| one.lua.contains("redis.call") || one.lua.contains("redis.pcall"));
    Ok(found)
}

/// What trimIndent of Kotlin makes of a text.
fn trimmed(text: &str) -> String {
    let is_blank = |line: &str| line.trim().is_empty();
    let first = text.split_once('\n').filter(|(first, _)| is_blank(first));
    let lines = first.map_or(text, |(_, rest)| rest);
    let last = lines.rsplit_once('\n').filter(|(_, last)| is_blank(last));
    without_indent(last.map_or(lines, |(rest, _)| rest), None)
}

/// A text block of Java, before its escapes: the indentation is that of the line with the least,
/// the last one included, and no line ends in spaces.
fn text_block(raw: &str) -> String {
    let raw = raw.split_once('\n').map_or(raw, |(_, rest)| rest);
    let text = without_indent(raw, raw.rsplit('\n').next());
    text.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The text without the indentation that all its lines have, blank ones but for `last` aside.
fn without_indent(text: &str, last: Option<&str>) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines = text.split('\n').filter(|line| !line.trim().is_empty()).chain(last);
    let least = lines.map(indent).min().unwrap_or(0);
    let lines = text.split('\n').map(|line| line.get(least..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The text, and whether it has an escape whose meaning is not known here.
fn unescaped(raw: &str) -> (String, bool) {
    let (mut text, mut is_unknown, mut rest) = (String::new(), false, raw.chars());
    while let Some(letter) = rest.next() {
        match if letter == '\\' { rest.next() } else { None } {
            None => text.push(letter),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\n') => {}
            Some(next @ ('\\' | '\'' | '"' | '$')) => text.push(next),
            Some(_) => is_unknown = true,
        }
    }
    (text, is_unknown)
}
