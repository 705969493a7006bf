//! The statements, as text and arguments. The databases differ in five places, which are all here.
//! Pure.

use std::collections::{BTreeMap, VecDeque};

use crate::order_events::OrderKey;
use serde::Serialize;

use crate::batch::{Row, Sole};

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
}

#[derive(Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    pub sql: String,
    pub args: Vec<Arg<'a>>,
    dialect: Dialect,
}

/// Rows per statement: with 16 arguments each, within the limits of all databases.
pub const ROWS_MAX: usize = 1_000;

pub const COLUMNS: &str = "voucher_id, sale_id, order_id, user_id, units, state, deadline_ms, \
                           only_user_id, entry_id, released_id, confirmed_id, ref, created_ms, \
                           updated_ms, disputed, disputed_ms";
/// How many of these a row has that nothing contradicts.
const UNDISPUTED: usize = 14;
/// The condition for one order.
pub(super) const OF_KEY: &str = "voucher_id = ? AND sale_id = ? AND order_id = ?";

/// Those that change when a row does: all but its key and when it was made.
fn changed() -> impl Iterator<Item = &'static str> {
    COLUMNS.split(", ").skip(3).filter(|name| *name != "created_ms")
}

/// A row with the texts of its columns.
pub struct Written<'r> {
    row: &'r Row,
    entry_id: String,
    released_id: String,
}

impl<'r> Written<'r> {
    pub fn new(row: &'r Row) -> Self {
        let (entry_id, released_id) = row.seen.texts();
        Self { row, entry_id, released_id }
    }

    fn only_user(&self) -> Option<&str> {
        (self.row.sole == Sole::Yes).then_some(self.row.user.as_str())
    }

    /// In the order of `COLUMNS`.
    fn args(&self, now_ms: i64) -> [Arg<'_>; 16] {
        let Row { key, user, known, deadline_ms, .. } = self.row;
        [
            Arg::Text(&key.voucher),
            Arg::Text(&key.sale),
            Arg::Text(&key.order),
            Arg::Text(user),
            Arg::Int(known.units),
            Arg::Text(known.state.word()),
            Arg::MaybeInt(*deadline_ms),
            Arg::MaybeText(self.only_user()),
            Arg::Text(&self.entry_id),
            Arg::Text(&self.released_id),
            Arg::Text(&self.row.confirmed_id),
            Arg::MaybeText(known.reference.as_deref()),
            Arg::Int(now_ms),
            Arg::Int(now_ms),
            Arg::MaybeText(Some(&*self.row.disputed).filter(|said| !said.is_empty())),
            Arg::MaybeInt(self.row.is_disputed().then_some(now_ms)),
        ]
    }
}

impl<'a> Statement<'a> {
    pub fn new(dialect: Dialect, sql: &str) -> Self {
        Self { sql: sql.to_owned(), args: Vec::new(), dialect }
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

    pub(super) fn bind_rows(&mut self, rows: impl IntoIterator<Item = Vec<Arg<'a>>>) -> &mut Self {
        for (number, args) in rows.into_iter().enumerate() {
            self.push(if number == 0 { "" } else { ", " }).bind_list(args);
        }
        self
    }

    /// The condition that `(voucher_id, sale_id, column)` is one of some triples, in the form that
    /// the database looks up in an index. With the other databases' form, PostgreSQL reads all rows
    /// of the voucher while it has no statistics of the table; and the others share no spelling of
    /// PostgreSQL's form.
    fn bind_triples(
        &mut self,
        column: &str,
        triples: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    ) {
        if self.dialect == Dialect::Postgres {
            let triples = triples
                .into_iter()
                .map(|(one, two, three)| [one, two, three].map(Arg::Text).into());
            self.push(&format!("(voucher_id, sale_id, {column}) IN (VALUES "));
            self.bind_rows(triples).push(")");
            return;
        }
        let mut of_sales: BTreeMap<(&str, &str), Vec<Arg<'_>>> = BTreeMap::new();
        for (voucher, sale, other) in triples {
            of_sales.entry((voucher, sale)).or_default().push(Arg::Text(other));
        }
        for (number, ((voucher, sale), others)) in of_sales.into_iter().enumerate() {
            self.push(if number == 0 { "(voucher_id = " } else { " OR (voucher_id = " });
            self.bind(Arg::Text(voucher)).push(" AND sale_id = ").bind(Arg::Text(sale));
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
        let mut statement = self.sql(&format!("INSERT INTO {{{table}}} ({columns}) VALUES "), []);
        statement.bind_rows(rows);
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

    /// The rows for which a condition is true.
    pub(super) fn select_orders<'a>(
        &self,
        condition: &str,
        args: impl IntoIterator<Item = Arg<'a>>,
    ) -> Statement<'a> {
        self.sql(&format!("SELECT {COLUMNS} FROM {{orders}} WHERE {condition}"), args)
    }

    /// The rows of some keys, locked until the transaction ends.
    pub fn select_rows<'a>(&self, keys: impl IntoIterator<Item = &'a OrderKey>) -> Statement<'a> {
        let mut statement = self.select_orders("", []);
        let key = |key: &'a OrderKey| (&*key.voucher, &*key.sale, &*key.order);
        statement.bind_triples("order_id", keys.into_iter().map(key));
        // Always in this order, so that two workers can't deadlock. SQLite has only one writer.
        if self.dialect != Dialect::Sqlite {
            statement.push(" ORDER BY voucher_id, sale_id, order_id FOR UPDATE");
        }
        statement
    }

    /// Selects the orders that some users of sales have in the unique index.
    pub fn select_holders<'a>(
        &self,
        users: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    ) -> Statement<'a> {
        let columns = "voucher_id, sale_id, only_user_id, order_id";
        let mut statement = self.sql(&format!("SELECT {columns} FROM {{orders}} WHERE "), []);
        statement.bind_triples("only_user_id", users);
        statement
    }

    pub fn insert<'a>(&self, rows: &'a [Written<'_>], now_ms: i64) -> Statement<'a> {
        let is_plain = rows.iter().all(|written| written.row.disputed.is_empty());
        let count = if is_plain { UNDISPUTED } else { COLUMNS.split(',').count() };
        self.insert_columns(rows, count, now_ms)
    }

    fn insert_columns<'a>(
        &self,
        rows: &'a [Written<'_>],
        count: usize,
        now_ms: i64,
    ) -> Statement<'a> {
        let columns: Vec<&str> = COLUMNS.split(", ").take(count).collect();
        let rows = rows.iter().map(|row| row.args(now_ms)[..count].to_vec());
        self.insert_into("orders", &columns.join(", "), rows)
    }

    /// Whether MySQL, which checks all indexes, could take another row for this one.
    pub fn is_ambiguous(&self, row: &Written<'_>) -> bool {
        self.dialect == Dialect::MySql && row.row.sole == Sole::Yes
    }

    /// Writes existing rows, of which none is ambiguous.
    pub fn change<'a>(&self, rows: &'a [Written<'_>], now_ms: i64) -> Statement<'a> {
        let mut statement = self.insert_columns(rows, COLUMNS.split(',').count(), now_ms);
        let changed = changed().map(|name| (name, String::new()));
        statement.or_change("voucher_id, sale_id, order_id", changed);
        statement
    }

    /// Writes an existing row.
    pub fn update<'a>(&self, row: &'a Written<'_>, now_ms: i64) -> Statement<'a> {
        let [voucher, sale, order, args @ ..] = row.args(now_ms);
        let names = COLUMNS.split(", ").skip(3).zip(args);
        let (sets, args): (Vec<_>, Vec<_>) = names
            .filter(|(name, _)| *name != "created_ms")
            .map(|(name, arg)| (format!("{name} = ?"), arg))
            .unzip();
        let sql = format!("UPDATE {{orders}} SET {} WHERE {OF_KEY}", sets.join(", "));
        self.sql(&sql, args.into_iter().chain([voucher, sale, order]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen_entries::SeenEntries;
    use domain::book::State;
    use domain::projection::Known;

    fn key(voucher: &str, order: &str) -> OrderKey {
        OrderKey { voucher: voucher.to_owned(), sale: String::new(), order: order.to_owned() }
    }

    fn tables(dialect: Dialect) -> Tables {
        Tables::new(dialect, "seckill_")
    }

    #[test]
    fn keys_are_looked_up_in_an_index() {
        let keys = [key("7", "a"), key("8", "b"), key("7", "c")];
        let statement = tables(Dialect::MySql).select_rows(&keys);
        let (_, condition) = statement.sql.split_once("WHERE ").unwrap();
        assert_eq!(
            condition,
            "(voucher_id = ? AND sale_id = ? AND order_id IN (?, ?)) OR (voucher_id = ? AND \
             sale_id = ? AND order_id IN (?)) ORDER BY voucher_id, sale_id, order_id FOR UPDATE"
        );
        let args: Vec<_> = ["7", "", "a", "c", "8", "", "b"].map(Arg::Text).to_vec();
        assert_eq!(statement.args, args);
        let statement = tables(Dialect::Postgres).select_rows(&keys[..2]);
        let (_, condition) = statement.sql.split_once("WHERE ").unwrap();
        assert_eq!(
            condition,
            "(voucher_id, sale_id, order_id) IN (VALUES ($1, $2, $3), ($4, $5, $6)) ORDER BY \
             voucher_id, sale_id, order_id FOR UPDATE"
        );
        let sql = tables(Dialect::Sqlite).select_rows(&keys).sql;
        assert!(sql.contains("FROM seckill_orders ") && sql.ends_with("order_id IN (?))"), "{sql}");
    }

    #[test]
    fn a_row_has_an_argument_a_column() {
        let row = Row {
            key: key("7", "1"),
            user: "alice".to_owned(),
            known: Known::new(State::Held, None, 2, None),
            deadline_ms: Some(5),
            sole: Sole::Yes,
            seen: SeenEntries::parse("1-1", ""),
            confirmed_id: String::new(),
            disputed: String::new(),
            is_settled: false,
        };
        let rows = [Written::new(&row), Written::new(&row)];
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            let statement = tables(dialect).insert(&rows, 9);
            assert_eq!(statement.args.len(), 2 * UNDISPUTED);
            assert_eq!(statement.args[7], Arg::MaybeText(Some("alice")));
            assert_eq!(tables(dialect).update(&rows[0], 9).args.len(), 16 - 1);
            let binds = statement.sql.matches(['?', '$']).count();
            assert_eq!(binds, statement.args.len());
        }
        assert!(tables(Dialect::MySql).change(&rows, 9).sql.contains("state = VALUES(state)"));
        assert!(tables(Dialect::Sqlite).change(&rows, 9).sql.contains("state = excluded.state"));
    }
}
