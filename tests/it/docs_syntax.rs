//! The syntax of a command as a picture of letters, from the arguments that COMMAND DOCS shows.
//!
//! Reading along the lines from left to right gives every way to write the command.

use std::iter::repeat_n;

use crate::declared::{Argument, Declared};
use crate::harness::Server;

/// A row is continued on the next line before it gets wider than this.
const WIDTH_MAX: usize = 96;

/// Lines of the same width; the first one joins the others.
#[derive(Clone, Debug)]
struct Tracks(Vec<Vec<char>>);

impl Tracks {
    fn word(word: &str) -> Self {
        Self(vec![format!(" {word} ").chars().collect()])
    }

    fn width(&self) -> usize {
        self.0[0].len()
    }

    /// One behind the other.
    fn then(mut self, next: Self) -> Self {
        let (wide, next_wide) = (self.width(), next.width());
        for number in 0..self.0.len().max(next.0.len()) {
            if number == self.0.len() {
                self.0.push(vec![' '; wide]);
            }
            let line = &mut self.0[number];
            line.extend(if number == 0 { "--" } else { "  " }.chars());
            match next.0.get(number) {
                Some(more) => line.extend(more),
                None => line.extend(repeat_n(' ', next_wide)),
            }
        }
        self
    }

    /// One of several.
    fn one_of(ways: &[Self]) -> Self {
        let wide = ways.iter().map(Self::width).max().expect("a way");
        let mut lines = Vec::new();
        for (way, tracks) in (1..).zip(ways) {
            for (number, line) in tracks.0.iter().enumerate() {
                let (end, fill) = match number {
                    0 => ('+', '-'),
                    _ if way == ways.len() => (' ', ' '),
                    _ => ('|', ' '),
                };
                let mut drawn = vec![end, fill];
                drawn.extend(line);
                drawn.extend(repeat_n(fill, wide - line.len() + 1));
                drawn.push(end);
                lines.push(drawn);
            }
        }
        Self(lines)
    }

    /// As text, without the space in front of the first word.
    fn shown(&self) -> Vec<String> {
        let text = |line: &Vec<char>| line[1..].iter().collect::<String>().trim_end().to_owned();
        self.0.iter().map(text).collect()
    }

    /// Perhaps not at all.
    fn optional(self) -> Self {
        Self::one_of(&[Self(vec![Vec::new()]), self])
    }

    /// Once or more.
    fn repeated(self) -> Self {
        Self::one_of(&[self, Self(vec![vec!['<']])])
    }
}

fn tracks(argument: &Argument) -> Tracks {
    let parts = || argument.parts.iter().map(tracks);
    let value = match &*argument.kind {
        "oneof" => Some(Tracks::one_of(&parts().collect::<Vec<_>>())),
        "block" => parts().reduce(Tracks::then),
        "pure-token" => None,
        _ => Some(Tracks::word(&argument.name)),
    };
    let token = argument.token.as_deref().map(Tracks::word);
    let both = token.into_iter().chain(value).reduce(Tracks::then).expect("a token or a value");
    let both = if argument.is_multiple { both.repeated() } else { both };
    if argument.is_optional { both.optional() } else { both }
}

/// The same in one line, as at the top of the command's page.
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

/// The picture of a command with these arguments.
pub fn drawn(name: &str, arguments: &[Argument]) -> String {
    let mut rows = vec![Tracks::word(name)];
    for argument in arguments.iter().map(tracks) {
        let row = rows.pop().expect("a row");
        if row.width() + argument.width() + 4 > WIDTH_MAX {
            rows.push(row.then(Tracks(vec![vec!['>']])));
            rows.push(Tracks(vec!["    >".chars().collect()]).then(argument));
        } else {
            rows.push(row.then(argument));
        }
    }
    let end = rows.pop().expect("a row").then(Tracks(vec![vec!['|']]));
    rows.into_iter().chain([end]).flat_map(|row| row.shown()).map(|line| line + "\n").collect()
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
        let page = kit::pages::page(format!("docs/commands/{name}.md"));
        let line = page.lines().nth(2).and_then(|line| line.strip_prefix('`')?.strip_suffix('`'));
        let line = line.map(shape).unwrap_or_default();
        wrong.extend((line != shape(&wanted)).then(|| format!("{line}\n{}", shape(&wanted))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pictures_show_every_way() {
    let word = Tracks::word;
    let one_of = Tracks::one_of(&[word("stock"), word("ADOPT"), word("no")]);
    for (tracks, wanted) in [
        (word("a").then(one_of), "a --+- stock -+/    +- ADOPT -+/    +- no ----+"),
        (
            word("a").then(word("UNITS").then(word("n")).optional()).then(word("b")),
            "a --+--------------+-- b/    +- UNITS -- n -+",
        ),
        (
            word("a").then(word("user").then(word("orderid")).repeated()),
            "a --+- user -- orderid -+/    +-<-----------------+",
        ),
        (
            word("a").then(word("IF").then(Tracks::one_of(&[word("x"), word("y")])).optional()),
            "a --+---------------+/    +- IF --+- x -+-+/            +- y -+",
        ),
    ] {
        assert_eq!(tracks.shown().join("/"), wanted);
    }
}
