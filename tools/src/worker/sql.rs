//! The statements, as text and arguments. The databases differ in five places, which are all here.
//! Pure.

mod rows;

use std::collections::VecDeque;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
    MySql,
}

/// The kind of database, and the prefix of its tables' names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    dialect: Dialect,
    prefix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Arg<'a> {
    Text(&'a str),
    MaybeText(Option<&'a str>),
    Int(i64),
    MaybeInt(Option<i64>),
    /// A word of the worker's own, with letters only.
    Word(&'static str),
}

/// A row of any database: its values as texts.
pub trait Cells {
    fn cell(&self, column: usize) -> sqlx::Result<Option<&str>>;
}

/// Reads the values of a row one after the other. A value that is not as its column must be is an
/// error: another program has written it.
pub struct Values<'r> {
    row: &'r dyn Cells,
    next: usize,
}

impl<'r> Values<'r> {
    pub fn of(row: &'r dyn Cells) -> Self {
        Self { row, next: 0 }
    }

    pub fn maybe_text(&mut self) -> sqlx::Result<Option<&'r str>> {
        self.next += 1;
        self.row.cell(self.next - 1)
    }

    pub fn text(&mut self) -> sqlx::Result<&'r str> {
        self.maybe_text()?.ok_or_else(|| odd("a text"))
    }
}

/// A number that was read as text.
pub fn number(text: &str) -> sqlx::Result<i64> {
    text.parse().map_err(|_| odd("a number"))
}

/// A row has a value that no worker has written there.
pub fn odd(wanted: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("a column of the worker's tables is not {wanted}").into())
}

#[derive(Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    pub sql: String,
    pub args: Vec<Arg<'a>>,
    /// After these, an array each, for PostgreSQL.
    pub lists: Vec<Vec<Arg<'a>>>,
    dialect: Dialect,
}

/// Rows per statement: with 15 arguments each, within the limits of all databases.
pub const ROWS_MAX: usize = 1_000;

impl<'a> Arg<'a> {
    pub fn text(&self) -> Option<&'a str> {
        match *self {
            Self::Text(text) | Self::Word(text) => Some(text),
            Self::MaybeText(text) => text,
            _ => None,
        }
    }

    pub fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::MaybeInt(_))
    }

    pub fn number(&self) -> Option<i64> {
        match *self {
            Self::Int(number) => Some(number),
            Self::MaybeInt(number) => number,
            _ => None,
        }
    }
}

impl<'a> Statement<'a> {
    pub fn new(dialect: Dialect, sql: &str) -> Self {
        Self { sql: sql.to_owned(), args: Vec::new(), lists: Vec::new(), dialect }
    }

    pub fn push(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    pub fn bind(&mut self, arg: Arg<'a>) -> &mut Self {
        self.args.push(arg);
        match self.dialect {
            Dialect::Postgres => self.sql.push_str(&format!("${}", self.args.len())),
            Dialect::Sqlite | Dialect::MySql => self.sql.push('?'),
        }
        self
    }

    pub(super) fn bind_list(&mut self, args: impl IntoIterator<Item = Arg<'a>>) -> &mut Self {
        self.push("(");
        for (number, arg) in args.into_iter().enumerate() {
            self.push(if number == 0 { "" } else { ", " }).bind(arg);
        }
        self.push(")")
    }

    /// The condition that `(voucher_id, sale_id, column)` is one of some triples, which are in
    /// order, in the form that the database looks up in an index. With the other databases' form,
    /// PostgreSQL reads all rows of the voucher while it has no statistics of the table; and the
    /// others share no spelling of PostgreSQL's form.
    pub(super) fn bind_triples(
        &mut self,
        column: &str,
        triples: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    ) {
        let mut triples: Vec<_> = triples.into_iter().collect();
        triples.dedup();
        if self.dialect == Dialect::Postgres {
            let list = |of: fn(&(&'a str, &'a str, &'a str)) -> &'a str| {
                triples.iter().map(of).map(Arg::Text).collect()
            };
            self.push(&format!("(voucher_id, sale_id, {column}) IN (SELECT * FROM "));
            self.bind_columns([list(|it| it.0), list(|it| it.1), list(|it| it.2)].into_iter());
            self.push(")");
            return;
        }
        let of_sales = triples.chunk_by(|one, two| (one.0, one.1) == (two.0, two.1));
        for (number, its) in of_sales.enumerate() {
            self.push(if number == 0 { "(voucher_id = " } else { " OR (voucher_id = " });
            self.bind(Arg::Text(its[0].0)).push(" AND sale_id = ").bind(Arg::Text(its[0].1));
            let others = its.iter().map(|(.., other)| Arg::Text(other));
            self.push(&format!(" AND {column} IN ")).bind_list(others).push(")");
        }
    }

    /// Changes these columns of the rows that exist, by their key, to the values to insert, which
    /// come after what is said of a column.
    pub(super) fn or_change<'n>(
        &mut self,
        key: &str,
        columns: impl Iterator<Item = (&'n str, String)>,
    ) {
        let (head, begin, end) = match self.dialect {
            Dialect::MySql => (" ON DUPLICATE KEY UPDATE ".to_owned(), "VALUES(", ")"),
            _ => (format!(" ON CONFLICT ({key}) DO UPDATE SET "), "excluded.", ""),
        };
        let sets: Vec<_> =
            columns.map(|(name, old)| format!("{name} = {old}{begin}{name}{end}")).collect();
        self.push(&head).push(&sets.join(", "));
    }

    /// Leaves rows that exist as they are, this column too.
    pub(super) fn or_nothing(&mut self, column: &str) {
        match self.dialect {
            Dialect::MySql => self.push(&format!(" ON DUPLICATE KEY UPDATE {column} = {column}")),
            _ => self.push(" ON CONFLICT DO NOTHING"),
        };
    }
}

impl Dialect {
    /// The columns of a selection. Each value of a row costs the library three pieces of memory for
    /// SQLite, so there the rows come as one text; by sale, since a text has a bound.
    pub(super) fn selected(self, columns: &str) -> String {
        match self {
            Self::Sqlite => format!("json_group_array(json_array({columns}))"),
            Self::Postgres | Self::MySql => columns.to_owned(),
        }
    }

    pub(super) fn by_sale(self) -> &'static str {
        if self == Self::Sqlite { " GROUP BY voucher_id, sale_id" } else { "" }
    }

    /// What a selection that locks its rows has behind its table, and at its end. It locks them
    /// always in the order of their key, so that two workers rarely deadlock. SQLite has only one
    /// writer. MySQL and MariaDB read the key in its order anyway, if they are told to; asked to
    /// sort, MySQL looks into the index twice for each value beforehand.
    pub(super) fn locking(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Sqlite => ("", String::new()),
            Self::Postgres => ("", format!(" ORDER BY {key} FOR UPDATE")),
            Self::MySql => (" FORCE INDEX (PRIMARY)", " FOR UPDATE".to_owned()),
        }
    }
}

impl Tables {
    pub fn new(dialect: Dialect, prefix: &str) -> Self {
        Self { dialect, prefix: prefix.to_owned() }
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A statement in which `{orders}` is such a table, `[units]` such a column as text, and each
    /// question mark takes the next argument: there are as many of both.
    pub(super) fn sql<'a>(
        &self,
        template: &str,
        args: impl IntoIterator<Item = Arg<'a>>,
    ) -> Statement<'a> {
        let mut args: VecDeque<Arg<'a>> = args.into_iter().collect();
        debug_assert_eq!(template.matches('?').count(), args.len(), "{template}");
        let mut statement = Statement::new(self.dialect, "");
        for one in template.chars() {
            match (one, self.dialect) {
                ('{', _) => statement.sql.push_str(&self.prefix),
                ('}', _) => {}
                ('[', _) => statement.sql.push_str("CAST("),
                (']', Dialect::MySql) => statement.sql.push_str(" AS CHAR)"),
                (']', _) => statement.sql.push_str(" AS TEXT)"),
                ('?', _) => args.pop_front().into_iter().for_each(|arg| _ = statement.bind(arg)),
                _ => statement.sql.push(one),
            }
        }
        statement
    }

    /// Inserts rows of some columns.
    pub(super) fn insert_into<'a>(
        &self,
        table: &str,
        columns: &str,
        rows: impl IntoIterator<Item = Vec<Arg<'a>>>,
    ) -> Statement<'a> {
        let mut statement = self.sql(&format!("INSERT INTO {{{table}}} "), []);
        statement.bind_rows(columns, &rows.into_iter().collect::<Vec<_>>());
        statement
    }

    /// Inserts a row, or changes the one with the same key, of which the first columns are.
    pub(super) fn replace<'a>(
        &self,
        table: &str,
        columns: &str,
        keys: usize,
        args: Vec<Arg<'a>>,
    ) -> Statement<'a> {
        let mut statement = self.insert_into(table, columns, [args]);
        let names: Vec<&str> = columns.split(", ").collect();
        let (key, others) = names.split_at(keys);
        statement.or_change(&key.join(", "), others.iter().map(|name| (*name, String::new())));
        statement
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_names_tables_and_takes_arguments() {
        let tables = Tables::new(Dialect::MySql, "shop_");
        let sql = tables.sql("SELECT [units] FROM {orders} WHERE a = ?", [Arg::Int(1)]);
        assert_eq!(sql.sql, "SELECT CAST(units AS CHAR) FROM shop_orders WHERE a = ?");
        let changed = |dialect| {
            let tables = Tables::new(dialect, "");
            tables.replace("orders", "id, units", 1, vec![Arg::Int(1), Arg::Int(2)]).sql
        };
        assert!(changed(Dialect::MySql).ends_with("KEY UPDATE units = VALUES(units)"));
        assert!(changed(Dialect::Sqlite).ends_with("DO UPDATE SET units = excluded.units"));
    }
}
