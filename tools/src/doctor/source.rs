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
use seckill_tools::command_line::quoted;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::reply::Reply;
use crate::strings::strings;

/// No source text is longer.
const FILE_LEN_MAX: u64 = 1 << 20;

pub struct Source {
    /// The name of the file without folders, escaped; with the line, if it is in other source text.
    pub name: String,
    /// Of the file, as it was given.
    pub path: PathBuf,
    pub text: Vec<u8>,
    /// Whether it is in other source text, and whether that puts it together at run time.
    pub is_inside: bool,
    pub is_joined: bool,
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
                let text = read_regular(&path).with_context(|| shown(&path))?;
                let name = sanitize_bytes(path.file_name().unwrap_or_default().as_bytes());
                if !is_code {
                    all.push(Self { name, path, text, is_inside: false, is_joined: false });
                    continue;
                }
                let found = strings(&String::from_utf8_lossy(&text), is("kt")).into_iter();
                all.extend(found.map(|one| {
                    let (name, path) = (format!("{name}:{}", one.line), path.clone());
                    let (text, is_joined) = (one.lua.into_bytes(), one.is_joined);
                    Self { name, path, text, is_inside: true, is_joined }
                }));
            } else if kind.is_symlink() || is("lua") || is_code {
                skipped += 1;
            }
        }
        Ok((all, skipped))
    }

    fn has_words(&self, is_it: impl Fn(&str) -> bool) -> bool {
        is_it(&format!("{} {}", self.name, String::from_utf8_lossy(&self.text)).to_lowercase())
    }

    /// Whether a word of its name or text ends in "lock", other than "block" and "clock", or is the
    /// Chinese word for it.
    pub fn is_of_locks(&self) -> bool {
        let is_lock = |word: &str| word.ends_with("lock") && word != "block" && word != "clock";
        self.has_words(|text| {
            text.split(|c: char| !c.is_alphabetic()).any(is_lock) || text.contains('\u{9501}')
        })
    }

    /// Whether its name or text speaks of something sold: a number in a key may be anything.
    pub fn is_of_stock(&self) -> bool {
        // The last ones are Chinese, in both ways of writing, and Korean for a stock.
        const WORDS: &str = "stock inventory sku voucher coupon ticket seat seckill sale goods \
            product restore rollback refund cancel compensat recover \u{5e93}\u{5b58} \
            \u{5eab}\u{5b58} \u{c7ac}\u{ace0}";
        self.has_words(|text| WORDS.split(' ').any(|word| text.contains(word)))
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
