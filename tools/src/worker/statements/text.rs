//! One text with the statements of many orders, for MySQL and MariaDB: the database replies once
//! per text, not once per order and statement. No value and no statement of the shop is in the
//! text: values are set as variables by a statement with placeholders, and the shop's statements
//! are prepared from variables and executed with variables, so that they get the same parameters as
//! alone. Pure.
//!
//! Statements that read and write one table each can change places with those of other tables, and
//! with those of other orders in the same table: so rows of one table become one `INSERT`, and
//! units of one row one `UPDATE`, if no trigger fires.

use std::collections::{HashMap, HashSet};
use std::ptr;

use super::shape::Shape;
use super::{ShopStatement, Statements, is_number};
use crate::sql::{Arg, Dialect, Statement};
use crate::steps::Step;

/// A statement that is executed once, for one order or for several.
pub struct Run<'s> {
    pub statement: &'s ShopStatement,
    pub steps: Vec<&'s Step>,
    /// Of all of them.
    units: i64,
    class: Class,
    /// Of a class by order, the orders.
    orders: HashSet<&'s str>,
}

/// What a result of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextResult {
    /// Of the text itself.
    Own,
    /// Of a run, by its place in the list.
    Run(usize),
    /// The warnings of a run.
    Warnings(usize),
    /// How many triggers the tables have.
    Triggers,
    Modes,
}

/// The savepoint at the beginning of a text.
pub const SAVEPOINT: &str = "seckill_worker";

#[derive(Default)]
pub struct Text<'s> {
    pub sql: String,
    pub parts: Vec<TextResult>,
    /// Those of each kind apart: MySQL 9.7 converts what a prepared statement gets to the kind of
    /// number that it first got in the same place, so that a text may become 0.
    texts: Vec<Arg<'s>>,
    numbers: Vec<Arg<'s>>,
    places: HashMap<Arg<'s>, usize>,
}

/// A table of which nothing is unknown, with its columns in order.
#[derive(Clone, Debug, Default)]
pub struct KnownTable {
    pub table: String,
    pub columns: Vec<Column>,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    /// How a number is written to be compared with the column, if its values are all different.
    pub unique: Option<IdForm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdForm {
    Number,
    Text,
}

/// What a statement changes places with.
#[derive(Clone, PartialEq, Eq)]
enum Class {
    /// With statements of other tables, and with those of this table and column whose orders are
    /// others.
    Order {
        table: String,
        column: String,
        written: IdForm,
    },
    /// With statements of other tables.
    Table(String),
    Nothing,
}

impl Class {
    fn table(&self) -> Option<&str> {
        match self {
            Self::Order { table, .. } | Self::Table(table) => Some(table),
            Self::Nothing => None,
        }
    }
}

/// The runs of some changes: one for each order and statement, in order; or fewer, with the help of
/// the tables of which nothing is unknown.
pub fn runs<'s>(
    statements: &'s Statements,
    steps: &'s [Step],
    known: &[KnownTable],
) -> Vec<Run<'s>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let are_numbers = steps.iter().all(|step| is_number(&step.key.order));
    for step in steps {
        for statement in statements.of(step.change) {
            let class = class(statement, known, are_numbers);
            // The last run of the statement takes it if all after that change places with it.
            let mut after = runs.iter_mut().rev();
            let last = after
                .find(|run| ptr::eq(run.statement, statement) || !run.changes_place(&class, step));
            if !last.is_some_and(|run| run.takes(statement, step)) {
                runs.push(Run::new(statement, step, class));
            }
        }
    }
    runs
}

fn class(statement: &ShopStatement, known: &[KnownTable], are_numbers: bool) -> Class {
    let known =
        statement.shape.table().and_then(|table| known.iter().find(|one| one.table == table));
    let Some(known) = known else { return Class::Nothing };
    // Two spellings may be one table.
    let table = known.table.to_ascii_lowercase();
    let column = match &statement.shape {
        Shape::Keyed { key, .. } => known.columns.iter().find(|column| column.name == *key),
        Shape::Row { columns, items, .. } => {
            let place = items.iter().position(|item| item == ":order_id");
            let is_whole = items.len() == known.columns.len();
            place.and_then(|place| match columns.get(place) {
                Some(name) => known.columns.iter().find(|column| column.name == *name),
                None if is_whole => known.columns.get(place),
                None => None,
            })
        }
        _ => None,
    };
    match column {
        Some(Column { name, unique: Some(written) }) if are_numbers => {
            Class::Order { table, column: name.clone(), written: *written }
        }
        _ => Class::Table(table),
    }
}

impl<'s> Run<'s> {
    fn new(statement: &'s ShopStatement, step: &'s Step, class: Class) -> Self {
        let (steps, orders) = (Vec::with_capacity(1), HashSet::new());
        let mut run = Self { statement, steps, units: step.units, class, orders };
        run.add(step);
        run
    }

    fn add(&mut self, step: &'s Step) {
        self.steps.push(step);
        if self.written().is_some() {
            self.orders.insert(&step.key.order);
        }
    }

    /// How the ids of orders are written, if they tell the rows of orders apart.
    fn written(&self) -> Option<IdForm> {
        match self.class {
            Class::Order { written, .. } => Some(written),
            Class::Table(_) | Class::Nothing => None,
        }
    }

    /// Whether the result is the same if a statement of this class is run before it for an order.
    fn changes_place(&self, class: &Class, step: &Step) -> bool {
        match (self.class.table(), class.table()) {
            (Some(one), Some(other)) if one != other => true,
            (Some(_), Some(_)) => {
                let is_by_order = matches!(class, Class::Order { .. }) && self.class == *class;
                is_by_order && !self.orders.contains(&*step.key.order)
            }
            _ => false,
        }
    }

    /// Whether the run does this too from now on.
    fn takes(&mut self, statement: &'s ShopStatement, step: &'s Step) -> bool {
        let is_known = ptr::eq(self.statement, statement) && self.class != Class::Nothing;
        if !is_known || self.orders.contains(&*step.key.order) {
            return false;
        }
        let Some(units) = self.units.checked_add(step.units) else { return false };
        match &statement.shape {
            Shape::Row { .. } => {}
            Shape::Keyed { .. } if self.written().is_some() => {}
            Shape::Sum { .. } => {
                let but_units = |step| statement.args_of(step, 0);
                if but_units(self.steps[0]) != but_units(step) {
                    return false;
                }
            }
            _ => return false,
        }
        self.units = units;
        self.add(step);
        true
    }

    /// Whether a run that has changed so many rows has changed one or more for each order.
    pub fn is_done(&self, changed: u64) -> bool {
        let many = match self.statement.shape {
            Shape::Keyed { .. } => self.steps.len() as u64,
            _ => 1,
        };
        let is_one = self.steps.len() == 1;
        (is_one && self.statement.may_change_nothing) || changed >= many
    }
}

impl<'s> Text<'s> {
    /// The text of some runs, and of the statement that ends it. `is_told` says whether the
    /// database is asked for the warnings of each run.
    pub fn new(runs: &[Run<'s>], last: Option<&'s Statement<'s>>, is_told: bool) -> Self {
        let mut text = Self::default();
        text.push(TextResult::Own, &format!("SAVEPOINT {SAVEPOINT}"));
        let mut prepared: HashMap<*const ShopStatement, usize> = HashMap::new();
        for (place, run) in runs.iter().enumerate() {
            let number = prepared.len();
            match &run.statement.shape {
                Shape::Row { insert, items, .. } if run.steps.len() > 1 => {
                    let rows: Vec<_> =
                        run.steps.iter().map(|step| text.row(items, run, step)).collect();
                    text.push(TextResult::Run(place), &format!("{insert}{}", rows.join(",")));
                }
                Shape::Keyed { update, .. } if run.steps.len() > 1 => {
                    let quote = if run.written() == Some(IdForm::Text) { "'" } else { "" };
                    let id = |step: &&Step| format!("{quote}{}{quote}", step.key.order);
                    let ids: Vec<_> = run.steps.iter().map(id).collect();
                    text.push(TextResult::Run(place), &format!("{update} IN ({})", ids.join(",")));
                }
                _ => {
                    let number =
                        *prepared.entry(ptr::from_ref(run.statement)).or_insert_with(|| {
                            text.prepare(number, &run.statement.sql);
                            number
                        });
                    let args = run.statement.args_of(run.steps[0], run.units);
                    text.execute(TextResult::Run(place), number, args);
                }
            }
            if is_told || run.statement.is_lax() {
                text.push(TextResult::Warnings(place), "SHOW WARNINGS");
            }
        }
        if let Some(last) = last {
            let number = prepared.len();
            text.prepare(number, &last.sql);
            text.execute(TextResult::Own, number, last.args.iter().copied());
        }
        text
    }

    pub fn push(&mut self, part: TextResult, sql: &str) {
        if !self.sql.is_empty() {
            self.sql.push(';');
        }
        self.sql.push_str(sql);
        self.parts.push(part);
    }

    /// Asks for the triggers of tables, whose names are plain.
    pub fn ask_for_triggers(&mut self, known: &[KnownTable]) {
        let tables: Vec<_> = known.iter().map(|known| &*known.table).collect();
        let tables = tables.join("', '");
        self.push(
            TextResult::Triggers,
            &format!(
                "SELECT COUNT(*) FROM information_schema.triggers WHERE event_object_schema = \
                 DATABASE() AND event_object_table IN ('{tables}')"
            ),
        );
    }

    /// The statements that set the variables, with these values: few different ones, so that the
    /// database has prepared most of them before.
    pub fn setting(&self) -> Vec<Statement<'s>> {
        let of_kind = |kind, values: &[Arg<'s>], none: Arg<'s>| {
            let step = values.len().next_power_of_two().div_ceil(8);
            let places = 0..values.len().next_multiple_of(step);
            let value = |place| (variable(kind, place), values.get(place).copied().unwrap_or(none));
            places.map(value).collect::<Vec<_>>()
        };
        let mut values = of_kind(TEXT, &self.texts, Arg::MaybeText(None));
        values.extend(of_kind(NUMBER, &self.numbers, Arg::MaybeInt(None)));
        let set = |values: &[(String, Arg<'s>)]| {
            let mut statement = Statement::new(Dialect::MySql, "SET ");
            for (number, (name, value)) in values.iter().enumerate() {
                let comma = if number == 0 { "" } else { ", " };
                statement.push(comma).push(name).push(" = ").bind(*value);
            }
            statement
        };
        values.chunks(VALUES_MAX).map(set).collect()
    }

    fn prepare(&mut self, number: usize, sql: &'s str) {
        let sql = self.variable(Arg::Text(sql));
        self.push(TextResult::Own, &format!("PREPARE seckill_worker_{number} FROM {sql}"));
    }

    fn execute(
        &mut self,
        part: TextResult,
        number: usize,
        args: impl IntoIterator<Item = Arg<'s>>,
    ) {
        let args: Vec<_> = args.into_iter().map(|arg| self.variable(arg)).collect();
        let using = if args.is_empty() { "" } else { " USING " };
        let sql = format!("EXECUTE seckill_worker_{number}{using}{}", args.join(","));
        self.push(part, &sql);
    }

    fn row(&mut self, items: &[String], run: &Run<'s>, step: &'s Step) -> String {
        let mut args = run.statement.args_of(step, step.units).into_iter();
        let items = items.iter().map(|item| match item.starts_with(':') {
            true => args.next().map_or_else(|| "NULL".to_owned(), |arg| self.variable(arg)),
            false => item.clone(),
        });
        format!("({})", items.collect::<Vec<_>>().join(","))
    }

    fn variable(&mut self, value: Arg<'s>) -> String {
        let (kind, values) = match value {
            Arg::Text(_) | Arg::MaybeText(_) | Arg::Word(_) => (TEXT, &mut self.texts),
            Arg::Int(_) | Arg::MaybeInt(_) => (NUMBER, &mut self.numbers),
        };
        let next = values.len();
        let place = *self.places.entry(value).or_insert(next);
        if place == next {
            values.push(value);
        }
        variable(kind, place)
    }
}

/// Values that one statement sets.
const VALUES_MAX: usize = 4_096;

const TEXT: &str = "text";
const NUMBER: &str = "number";

fn variable(kind: &str, place: usize) -> String {
    format!("@seckill_{kind}{place}")
}
