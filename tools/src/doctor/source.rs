//! Scripts as text: files of Lua, folders of them, and other source text with Lua in it.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use itertools::Itertools;
use rustix::fs::OFlags;
use rustix::io::Errno;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::call::Call;
use crate::lua::Lua;
use crate::reply::Reply;
use crate::strings::{Language, strings};

/// No source text is longer.
const FILE_LEN_MAX: u64 = 1 << 20;

#[derive(Default)]
pub struct Source {
    /// The name of the file without folders, escaped; with the line, if it is in other source text.
    pub name: String,
    /// Of the file, as it was given.
    pub path: PathBuf,
    pub text: Vec<u8>,
    /// Whether it is in other source text.
    pub is_inside: bool,
    /// Whether other source text joins values into it that are only known at run time.
    pub is_joined: bool,
    /// Whether other source text joins something before or after it.
    pub is_part: bool,
    /// Whether a source file in the given folders names the file.
    pub is_loaded: bool,
}

impl Source {
    /// All scripts of files or, sorted, of folders, those first that a source file in a folder
    /// names; with `from_java` also those in other source text, of which `Sell.java:12` names one.
    /// In folders only regular files are read, and what else has such a name is counted.
    pub fn read_all(given: &[PathBuf], from_java: bool) -> Result<(Vec<Self>, usize)> {
        let (mut all, mut code, mut skipped) = (Vec::new(), String::new(), 0);
        let given = given.iter().rev().map(|path| (path.clone(), true));
        let mut rest: Vec<(PathBuf, bool)> = given.collect();
        while let Some((path, is_given)) = rest.pop() {
            let (path, line) = with_line(path);
            let kind = fs::symlink_metadata(&path).with_context(|| shown(&path))?.file_type();
            let is_lua = path.extension().is_some_and(|own| own == "lua");
            let language = Language::of(&path);
            let (is_java, from_java) = (language.is_some(), from_java || line.is_some());
            if kind.is_dir() {
                let entries = fs::read_dir(&path).with_context(|| shown(&path))?;
                let paths = entries.flatten().map(|entry| entry.path()).sorted().rev();
                rest.extend(paths.map(|path| (path, false)));
            } else if is_given || kind.is_file() && (is_lua || is_java) {
                let text = match read_regular(&path) {
                    // It loads nothing that is known.
                    Err(_) if !is_given && !is_lua && !from_java => continue,
                    text => text.with_context(|| shown(&path))?,
                };
                if is_java && !is_given {
                    let text = String::from_utf8_lossy(&text);
                    code.extend(text.lines().filter(|line| line.contains(".lua\"")));
                }
                if let Some(language) = language.filter(|_| from_java) {
                    let found = Self::in_strings(&path, &text, language);
                    all.extend(found.into_iter().filter(|(own, _)| line.is_none_or(|n| n == *own)));
                } else if is_lua || is_given {
                    all.push((0, Self { name: file_name(&path), path, text, ..Self::default() }));
                }
            } else if kind.is_symlink() || is_lua || is_java && from_java {
                skipped += 1;
            }
        }
        let mut all: Vec<Self> = all.into_iter().map(|(_, one)| one).collect();
        for one in &mut all {
            one.is_loaded |= code.contains(&format!("{}\"", one.name));
        }
        all.sort_by_key(|one| !one.is_loaded);
        Ok((all, skipped))
    }

    fn in_strings(path: &Path, text: &[u8], language: Language) -> Vec<(usize, Self)> {
        let found = strings(&String::from_utf8_lossy(text), language).into_iter().map(|found| {
            let one = Self {
                name: format!("{}:{}", file_name(path), found.line),
                path: path.to_owned(),
                text: found.lua.into(),
                is_inside: true,
                is_joined: found.is_joined,
                is_part: found.is_part,
                is_loaded: true,
            };
            (found.line, one)
        });
        found.collect()
    }

    /// Whether it uses as many KEYS and ARGV as a call has, or a number that no text shows.
    pub fn takes(&self, call: &Call) -> bool {
        let lua = Lua::read(&String::from_utf8_lossy(&self.text));
        lua.is_some_and(|lua| {
            lua.computes || (lua.keys, lua.args) == (call.keys.len(), call.args.len())
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

    /// Whether its name or text speaks of something sold: a number in a key may be anything.
    pub fn is_of_stock(&self) -> bool {
        // The last ones are Chinese, in both ways of writing, and Korean for a stock.
        const WORDS: &str = "stock inventory sku voucher coupon ticket seat seckill sale goods \
            product restore rollback refund cancel compensat recover \u{5e93}\u{5b58} \
            \u{5eab}\u{5b58} \u{c7ac}\u{ace0}";
        let text = format!("{} {}", self.name, String::from_utf8_lossy(&self.text)).to_lowercase();
        WORDS.split(' ').any(|word| text.contains(word))
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

fn file_name(path: &Path) -> String {
    sanitize_bytes(path.file_name().unwrap_or(path.as_os_str()).as_bytes())
}

/// A path, and the line that follows it, if there is no such file.
fn with_line(path: PathBuf) -> (PathBuf, Option<usize>) {
    let text = path.to_str().filter(|_| !path.exists()).and_then(|text| text.rsplit_once(':'));
    match text.and_then(|(file, line)| Some((PathBuf::from(file), line.parse().ok()?))) {
        Some((file, line)) => (file, Some(line)),
        None => (path, None),
    }
}

/// A path as a word of a shell.
pub fn quoted_path(path: &Path) -> String {
    let text = shown(path);
    let is_plain = |c: char| c.is_alphanumeric() || "_./-:=@%+,".contains(c);
    match text.chars().all(is_plain) && !text.starts_with('-') {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
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
