//! Rows to insert: what they have in common is said once, since each value costs the database as
//! much as a part of its work with the row. Pure.

use super::{Arg, Dialect, Statement};

impl Arg<'_> {
    /// As a part of a statement's text, if it is short. Texts that users have chosen never are.
    fn short(self) -> Option<String> {
        match self {
            Self::Int(number) | Self::MaybeInt(Some(number)) => {
                (0..10).contains(&number).then(|| number.to_string())
            }
            Self::Text("") => Some("''".to_owned()),
            Self::Word(word) => Some(format!("'{word}'")),
            Self::Text(_) | Self::MaybeText(_) | Self::MaybeInt(None) => None,
        }
    }
}

impl<'a> Statement<'a> {
    /// The columns and the rows. A column without a value in all of several rows is left out, and
    /// what is the same in all of them, and short, is a part of the text. PostgreSQL gets an array
    /// for each other column: it would plan anew what has thousands of arguments.
    pub(super) fn bind_rows(&mut self, columns: &str, rows: &[Vec<Arg<'a>>]) {
        let same = |place: usize| {
            let first = *rows.first()?.get(place)?;
            let is_same = rows.len() > 1 && rows.iter().all(|row| row[place] == first);
            is_same.then_some(first)
        };
        let columns =
            columns.split(", ").enumerate().map(|(place, name)| (place, name, same(place)));
        let is_none = |same| matches!(same, Some(Arg::MaybeInt(None) | Arg::MaybeText(None)));
        let columns: Vec<_> = columns.filter(|(.., same)| !is_none(*same)).collect();
        let names: Vec<_> = columns.iter().map(|(_, name, _)| *name).collect();
        self.push(&format!("({}) ", names.join(", ")));
        let items = columns.iter().map(|(place, _, same)| (*place, same.and_then(Arg::short)));
        let items: Vec<(usize, Option<String>)> = items.collect();
        if self.dialect == Dialect::Postgres && rows.len() > 1 {
            return self.bind_selected(&items, rows);
        }
        self.push("VALUES ");
        for (number, row) in rows.iter().enumerate() {
            self.push(if number == 0 { "(" } else { ", (" });
            for (number, (place, short)) in items.iter().enumerate() {
                self.push(if number == 0 { "" } else { ", " });
                match short {
                    Some(short) => self.push(short),
                    None => self.bind(row[*place]),
                };
            }
            self.push(")");
        }
    }

    fn bind_selected(&mut self, items: &[(usize, Option<String>)], rows: &[Vec<Arg<'a>>]) {
        let long = items.iter().filter(|(_, short)| short.is_none()).map(|(place, _)| *place);
        let long: Vec<usize> = long.collect();
        let name = |place: &usize| format!("c{place}");
        let item =
            |(place, short): &(usize, Option<String>)| short.clone().unwrap_or_else(|| name(place));
        let items: Vec<_> = items.iter().map(item).collect();
        self.push(&format!("SELECT {} FROM ", items.join(", ")));
        self.bind_columns(long.iter().map(|place| rows.iter().map(|row| row[*place]).collect()));
        let names: Vec<_> = long.iter().map(name).collect();
        self.push(&format!(" AS of_rows ({})", names.join(", ")));
    }

    /// Columns as rows, for PostgreSQL.
    pub(super) fn bind_columns(&mut self, columns: impl Iterator<Item = Vec<Arg<'a>>>) {
        self.push("unnest(");
        for (number, column) in columns.enumerate() {
            let kind = if column.first().is_some_and(Arg::is_number) { "bigint" } else { "text" };
            self.lists.push(column);
            let place = self.args.len() + self.lists.len();
            self.push(if number == 0 { "" } else { ", " }).push(&format!("${place}::{kind}[]"));
        }
        self.push(")");
    }
}
