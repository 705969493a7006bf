//! What is known of a statement of the shop from its text alone, for MySQL and MariaDB: enough to
//! run it once for many orders, in the few forms where the result is the same. Pure.

use std::sync::LazyLock;

use regex::Regex;

/// A plain name; with backquotes it may be any word.
const NAME: &str = "(?:[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z0-9_]+`)";
/// A value that depends on nothing in any table.
const ITEM: &str = concat!(
    r"(?::[a-z_]+|-?[0-9]+|'[^'\\]*'|NULL|DEFAULT",
    r"|(?:NOW|CURRENT_TIMESTAMP)\([0-6]?\)|CURRENT_TIMESTAMP)"
);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Adds one row to `table`: `insert` up to `VALUES`, the columns if they are named, and the
    /// items of the row. The name of a value is an item that begins with a colon.
    Row {
        table: String,
        insert: String,
        columns: Vec<String>,
        items: Vec<String>,
    },
    /// Adds `:units` to a column of a row of `table`, or takes them if they are there: for several
    /// orders of the row, their sum can be added or taken at once.
    Sum {
        table: String,
    },
    /// Writes constants into the rows whose `key` is the order's id. `update` ends with the key.
    Keyed {
        table: String,
        key: String,
        update: String,
    },
    /// Reads and writes rows of `table` alone.
    Of {
        table: String,
    },
    Any,
}

impl Shape {
    pub fn of(sql: &str) -> Self {
        let sql = sql.trim().trim_end_matches(';').trim_end();
        row(sql)
            .or_else(|| sum(sql))
            .or_else(|| keyed(sql))
            .or_else(|| update(sql))
            .unwrap_or(Self::Any)
    }

    /// The only table that the statement reads or writes.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Row { table, .. }
            | Self::Sum { table }
            | Self::Keyed { table, .. }
            | Self::Of { table } => Some(table),
            Self::Any => None,
        }
    }
}

/// The expression for a whole statement: a space stands for any space, `NAME` and `ITEM` for those.
fn whole(text: &str) -> Regex {
    let text = text.replace("NAME", NAME).replace("ITEM", ITEM).replace(' ', r"\s+");
    #[expect(clippy::expect_used, reason = "a constant, compiled by the tests")]
    Regex::new(&format!("(?is)^{}$", text.replace('~', r"\s*"))).expect("an expression")
}

fn plain(name: &str) -> String {
    name.trim_matches('`').to_owned()
}

/// Columns are the same in any case.
fn column(name: &str) -> String {
    plain(name.trim()).to_ascii_lowercase()
}

fn row(sql: &str) -> Option<Shape> {
    static ROW: LazyLock<Regex> = LazyLock::new(|| {
        whole(r"(INSERT INTO (NAME)~(?:\((~NAME(?:~,~NAME)*~)\))?~)VALUES~\(~(ITEM(?:~,~ITEM)*)~\)")
    });
    static ONE: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant, compiled by the tests")]
        Regex::new(&format!("(?is){ITEM}")).expect("an expression")
    });
    let found = ROW.captures(sql)?;
    let columns = found.get(3).map_or("", |columns| columns.as_str());
    let columns = columns.split(',').map(column).filter(|name| !name.is_empty()).collect();
    let items = ONE.find_iter(&found[4]).map(|item| item.as_str().to_owned()).collect();
    let (table, insert) = (plain(&found[2]), format!("{}VALUES ", &found[1]));
    Some(Shape::Row { table, insert, columns, items })
}

fn sum(sql: &str) -> Option<Shape> {
    static SUM: LazyLock<Regex> = LazyLock::new(|| {
        whole(
            &[
                r"UPDATE (NAME) SET (NAME)~=~(NAME)~([-+])~:units ",
                r"WHERE (NAME)~=~:(?:voucher_id|sale_id)(?: AND (NAME)~>=~:units)?",
            ]
            .concat(),
        )
    });
    let found = SUM.captures(sql)?;
    let table = plain(&found[1]);
    let guard = found.get(6).map(|guard| column(guard.as_str()));
    let [column, of, key] = [2, 3, 5].map(|group| column(&found[group]));
    // Only taking gets harder with each order: then the sum is there if every part was.
    let is_guarded = guard.as_ref().is_none_or(|guard| &found[4] == "-" && *guard == column);
    (column == of && column != key && is_guarded).then_some(Shape::Sum { table })
}

fn keyed(sql: &str) -> Option<Shape> {
    static KEYED: LazyLock<Regex> = LazyLock::new(|| {
        let one = "NAME~=~ITEM";
        whole(&format!("(UPDATE (NAME) SET ({one}(?:~,~{one})*) WHERE (NAME))~=~:order_id"))
    });
    static SET: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant, compiled by the tests")]
        Regex::new(&format!(r"(?is)({NAME})\s*=\s*({ITEM})")).expect("an expression")
    });
    let found = KEYED.captures(sql)?;
    let (table, key) = (plain(&found[2]), column(&found[4]));
    let is_constant = |set: regex::Captures<'_>| column(&set[1]) != key && !set[2].starts_with(':');
    let update = found[1].to_owned();
    SET.captures_iter(&found[3]).all(is_constant).then_some(Shape::Keyed { table, key, update })
}

fn update(sql: &str) -> Option<Shape> {
    static UPDATE: LazyLock<Regex> = LazyLock::new(|| {
        let one = "NAME~=~ITEM";
        whole(&format!("UPDATE (NAME) SET {one}(?:~,~{one})* WHERE {one}(?: AND {one})*"))
    });
    let found = UPDATE.captures(sql)?;
    Some(Shape::Of { table: plain(&found[1]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_statements_have_a_shape() {
        let insert =
            "INSERT INTO `tb_Order` (id, user_id, made)\nVALUES (:order_id, :user_id,NOW(3))";
        let Shape::Row { table, insert, columns, items } = Shape::of(insert) else { panic!() };
        assert_eq!(columns, ["id", "user_id", "made"]);
        assert_eq!(
            (&*table, &*insert),
            ("tb_Order", "INSERT INTO `tb_Order` (id, user_id, made)\nVALUES ")
        );
        assert_eq!(items, [":order_id", ":user_id", "NOW(3)"]);
        let items = "INSERT INTO o VALUES (:order_id, 'a, (b', -2 , null, DEFAULT);";
        let Shape::Row { items, .. } = Shape::of(items) else { panic!() };
        assert_eq!(items, [":order_id", "'a, (b'", "-2", "null", "DEFAULT"]);
        for sql in [
            "UPDATE s SET stock = stock - :units WHERE id = :voucher_id AND stock >= :units",
            "update s set stock=`stock`+:units where voucher_id=:voucher_id ;",
        ] {
            assert_eq!(Shape::of(sql), Shape::Sum { table: "s".to_owned() }, "{sql}");
        }
        let update = "UPDATE o SET status = 2, paid = NOW() WHERE ID = :order_id";
        let Shape::Keyed { table, key, update } = Shape::of(update) else { panic!() };
        assert_eq!((&*table, &*key), ("o", "id"));
        assert_eq!(update, "UPDATE o SET status = 2, paid = NOW() WHERE ID");
        for sql in [
            "UPDATE o SET status = 2 WHERE id = :order_id AND status = 1",
            "UPDATE o SET status = :state WHERE id = :order_id",
            "UPDATE o SET id = 7 WHERE id = :order_id",
            "UPDATE o SET status = 2 WHERE user_id = :user_id",
        ] {
            assert_eq!(Shape::of(sql), Shape::Of { table: "o".to_owned() }, "{sql}");
        }
    }

    #[test]
    fn what_may_depend_on_more_has_none() {
        for sql in [
            "INSERT IGNORE INTO o VALUES (:order_id)",
            "INSERT INTO o VALUES (:order_id) ON DUPLICATE KEY UPDATE a = 1",
            "INSERT INTO o VALUES (:order_id), (:user_id)",
            "INSERT INTO o VALUES ((SELECT stock FROM s))",
            "INSERT INTO o VALUES (f(:order_id))",
            "INSERT INTO o VALUES ('it\\'s')",
            "INSERT INTO o VALUES ('it''s')",
            "INSERT INTO other.o VALUES (:order_id)",
            "INSERT INTO o VALUES (:order_id) -- a remark",
            "INSERT INTO o SELECT :order_id",
            "UPDATE s SET stock = stock - :units, n = n + 1 WHERE id = :voucher_id",
            "UPDATE s SET stock = other - :units WHERE id = :voucher_id",
            "UPDATE s SET stock = stock - :units WHERE id = :voucher_id AND stock > :units",
            "UPDATE s SET stock = stock - :units WHERE id = :voucher_id AND other >= :units",
            "UPDATE s SET stock = stock + :units WHERE id = :voucher_id AND stock >= :units",
            "UPDATE s SET stock = stock - :units WHERE stock = :voucher_id",
            "UPDATE s SET stock = stock - 1 WHERE id = :voucher_id",
            "UPDATE s SET a = b WHERE id = :order_id",
            "UPDATE s, t SET a = 1 WHERE id = :order_id",
            "DELETE FROM s WHERE id = :order_id",
            "CALL p(:order_id)",
        ] {
            assert_eq!(Shape::of(sql), Shape::Any, "{sql}");
        }
    }
}
