//! Runs the shop's own statements in the transaction that writes the rows: in one block if that is
//! possible. On MySQL and MariaDB those of a batch are one text, since each answer costs a way
//! through the network.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use seckill_tools::sanitize::sanitize;
use tracing::{debug, info, warn};

use super::Fault;
use super::engine::{known_tables, without_transactions};
use super::transaction::{Answered, Open};
use crate::sql::{Arg, Dialect, ROWS_MAX, Statement};
use crate::statements::block;
use crate::statements::text::{KnownTable, Run, Text, TextResult, runs};
use crate::statements::{ShopStatement, Statements, is_of_word};
use crate::steps::{Change, Step};

/// Warnings that a value was stored as another one: null as a value, out of range, truncated, not
/// converted, too long.
const OTHER: [&str; 7] = ["1048", "1263", "1264", "1265", "1292", "1366", "1406"];
/// So many warnings of a statement are reported by default.
const WARNINGS_TOLD: usize = 64;

/// Steps in one text: those of a batch in which each order has two, as one that is held and paid.
const STEPS_MAX: usize = 2 * ROWS_MAX;

pub struct Shop {
    dialect: Dialect,
    statements: Statements,
    /// Set once the database has refused the block of the statements but accepted them one by one.
    one_by_one: AtomicBool,
    /// Whether the database refuses values that a column can't store, as far as is known.
    is_strict: AtomicBool,
    /// The tables of the statements of which nothing is unknown.
    known: RwLock<Arc<[KnownTable]>>,
    /// Whether a statement, by its place, takes an argument, by its place, as a number.
    numbers: RwLock<HashMap<(String, usize), bool>>,
    /// The places of statements, and the tables, that the log names.
    said: Mutex<BTreeSet<String>>,
}

impl Shop {
    pub fn new(dialect: Dialect, statements: Statements) -> Self {
        Self {
            dialect,
            statements,
            one_by_one: AtomicBool::new(false),
            is_strict: AtomicBool::new(true),
            known: RwLock::default(),
            numbers: RwLock::default(),
            said: Mutex::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// The events that the file has statements for.
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        Change::ALL.into_iter().filter(|change| self.has(*change)).map(Change::word)
    }

    pub fn has(&self, change: Change) -> bool {
        !self.statements.of(change).is_empty()
    }

    /// Whether nothing was said yet of a statement, by its place, or of a table: the opening of the
    /// database may fail many times.
    fn is_news(&self, of: &str) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(of.to_owned())
    }

    /// Has the database check the statements. Says which are sent alone and which tables have no
    /// transactions, and looks up the tables of which nothing is unknown.
    pub async fn meet(&self, open: &mut Open) -> Result<(), Fault> {
        let alone = self.statements.all().filter_map(|one| Some((&one.place, one.alone?)));
        for (place, why) in alone.filter(|(place, _)| self.is_news(place)) {
            info!(
                "--statements, {place} is sent for each order alone, with the others of its batch, \
                 which is slower: {why}"
            );
        }
        for [table, engine] in without_transactions(open).await? {
            let is_named =
                |sql: &str| sql.split(|c: char| !is_of_word(c)).any(|word| word == table);
            if self.statements.all().any(|statement| is_named(&statement.sql))
                && self.is_news(&table)
            {
                warn!(
                    "table {} has no transactions ({engine}): when a batch is refused, what its \
                     statements wrote there stays, and is written again",
                    sanitize(&table)
                );
            }
        }
        let known = known_tables(open, &self.statements.tables()).await?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known.into();
        for statement in self.statements.all() {
            open.prepare(statement)
                .await
                .map_err(|error| Fault::from(error).about(&about(statement)))?;
        }
        Ok(())
    }

    /// Runs the shop's statements for all changes, and then one of the worker's own.
    pub async fn tell(
        &self,
        open: &mut Open,
        steps: &[Step],
        last: Option<&Statement<'_>>,
    ) -> Result<(), Fault> {
        if self.dialect == Dialect::MySql && !steps.is_empty() {
            return self.tell_texts(open, steps, last).await;
        }
        self.tell_all(open, steps).await?;
        if let Some(last) = last {
            open.execute(last).await?;
        }
        Ok(())
    }

    /// Runs the shop's statements for all changes: in one block if possible. If the block is
    /// refused, runs them one by one to find the one at fault.
    async fn tell_all(&self, open: &mut Open, steps: &[Step]) -> Result<(), Fault> {
        let mut refused = None;
        if let Some(block) = &self.statements.block
            && steps.len() > 1
            && !self.one_by_one.load(Ordering::Relaxed)
        {
            let steps_text = block::steps_text(steps, &self.statements);
            let steps_text = [Arg::Text(&steps_text)];
            let args =
                |part: &block::BlockPart| if part.takes_steps { &steps_text[..] } else { &[] };
            let statements: Vec<_> = block.iter().map(|part| (&*part.sql, args(part))).collect();
            match open.try_all(&statements).await?.map_err(Fault::from) {
                Ok(()) => return Ok(()),
                Err(fault @ Fault::Elsewhere(_)) => return Err(fault),
                Err(fault) => refused = Some(fault),
            }
        }
        self.tell_alone(open, steps).await?;
        // The statements are accepted, so the next block would be refused too.
        if let Some(fault) = refused {
            self.one_by_one.store(true, Ordering::Relaxed);
            let text = fault.text();
            info!("the shop's statements are run one by one, which is slower: {text}");
        }
        Ok(())
    }

    fn known_tables(&self) -> Arc<[KnownTable]> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn tell_texts(
        &self,
        open: &mut Open,
        steps: &[Step],
        last: Option<&Statement<'_>>,
    ) -> Result<(), Fault> {
        self.look_at_odd(open, steps).await?;
        let mut pieces = steps.chunks(STEPS_MAX).peekable();
        while let Some(steps) = pieces.next() {
            let last = last.filter(|_| pieces.peek().is_none());
            let is_alone =
                |step: &Step| self.statements.of(step.change).iter().any(|one| one.alone.is_some());
            if steps.iter().any(is_alone) {
                self.tell_alone(open, steps).await?;
                if let Some(last) = last {
                    open.execute(last).await?;
                }
            } else {
                self.tell_text(open, steps, last).await?;
            }
        }
        Ok(())
    }

    async fn tell_text(
        &self,
        open: &mut Open,
        steps: &[Step],
        last: Option<&Statement<'_>>,
    ) -> Result<(), Fault> {
        let known = self.known_tables();
        let few = runs(&self.statements, steps, &known);
        let all = runs(&self.statements, steps, &[]);
        if few.len() < all.len() {
            match self.run_text(open, &few, last, Some(&known)).await? {
                Ok(()) => return Ok(()),
                Err(fault) => debug!("run for each order: {}", sanitize(&fault.text())),
            }
            open.back().await?;
        }
        let was_strict = self.is_strict.load(Ordering::Relaxed);
        let done = self.run_text(open, &all, last, None).await?;
        if done.is_ok() || !was_strict || self.is_strict.load(Ordering::Relaxed) {
            return done;
        }
        // Warnings are asked for from now on.
        open.back().await?;
        self.run_text(open, &all, last, None).await?
    }

    /// Runs a text. The inner fault is of the data, and the transaction can go on at the savepoint.
    async fn run_text(
        &self,
        open: &mut Open,
        runs: &[Run<'_>],
        last: Option<&Statement<'_>>,
        known: Option<&[KnownTable]>,
    ) -> Result<Result<(), Fault>, Fault> {
        let is_strict = self.is_strict.load(Ordering::Relaxed);
        let mut text = Text::new(runs, last, known.is_some() || !is_strict);
        if let Some(known) = known {
            text.ask_for_triggers(known);
        }
        text.push(TextResult::Modes, "SELECT @@sql_mode");
        for setting in text.setting() {
            open.execute(&setting).await?;
        }
        let results = match open.results(&text.sql).await {
            Ok(results) => results,
            Err((place, error)) => {
                let fault = Fault::from(error);
                let Some(TextResult::Run(place)) = text.parts.get(place) else { return Err(fault) };
                let of = runs.get(*place).map(|run| about(run.statement)).unwrap_or_default();
                let fault = fault.about(&of);
                return match fault {
                    Fault::Elsewhere(_) => Err(fault),
                    fault => Ok(Err(fault)),
                };
            }
        };
        if results.len() != text.parts.len() {
            let (wanted, got) = (text.parts.len(), results.len());
            return Err(Fault::Failed(format!("{got} results of {wanted} statements")));
        }
        for (part, result) in text.parts.iter().zip(&results) {
            if let Err(fault) = self.judge(*part, result, runs, is_strict) {
                return Ok(Err(fault));
            }
        }
        Ok(Ok(()))
    }

    fn judge(
        &self,
        part: TextResult,
        result: &Answered,
        runs: &[Run<'_>],
        is_strict: bool,
    ) -> Result<(), Fault> {
        let word = result.rows.first().and_then(|row| row.first()).map_or("", String::as_str);
        match part {
            TextResult::Own => Ok(()),
            TextResult::Run(place) => match runs.get(place) {
                Some(run) if !run.is_done(result.changed) => {
                    Err(unchanged(run.statement, run.steps[0]))
                }
                _ => Ok(()),
            },
            TextResult::Warnings(place) => {
                let of = runs.get(place).map(|run| about(run.statement)).unwrap_or_default();
                stored(&result.rows).map_err(|what| other_value(&of, &what))
            }
            TextResult::Triggers if word == "0" => Ok(()),
            TextResult::Triggers => Err(Fault::Failed("a table has triggers".to_owned())),
            TextResult::Modes => {
                let now_strict = word.split(',').any(|mode| mode.starts_with("STRICT_"));
                self.is_strict.store(now_strict, Ordering::Relaxed);
                match is_strict && !now_strict {
                    true => Err(Fault::Failed("the database is not strict".to_owned())),
                    false => Ok(()),
                }
            }
        }
    }

    /// An error if a statement stores a value that looks like a number, but is another text than
    /// the number's, as a number: the database would not say so. With a letter behind it, it does.
    async fn look_at_odd(&self, open: &mut Open, steps: &[Step]) -> Result<(), Fault> {
        for step in steps {
            for statement in self.statements.of(step.change) {
                for (place, text) in statement.odd(step) {
                    let value = (statement.place.clone(), place);
                    let answer = self
                        .numbers
                        .read()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get(&value)
                        .copied();
                    let is_number = match answer {
                        Some(is_number) => is_number,
                        None => self.takes_number(open, statement, step, place, text).await?,
                    };
                    self.numbers
                        .write()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(value, is_number);
                    if is_number {
                        let (of, text) = (about(statement), sanitize(text));
                        let why = format!("{of}, would store another value: {text} as a number");
                        return Err(Fault::Refused(why));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a statement takes the argument at a place as a number.
    async fn takes_number(
        &self,
        open: &mut Open,
        statement: &ShopStatement,
        step: &Step,
        place: usize,
        text: &str,
    ) -> Result<bool, Fault> {
        let no_number = format!("{text}x");
        let mut args = statement.args(step);
        if let Some(arg) = args.get_mut(place) {
            *arg = Arg::Text(&no_number);
        }
        open.mark().await?;
        if let Err(fault @ Fault::Elsewhere(_)) =
            open.run(&statement.sql, &args).await.map_err(Fault::from)
        {
            return Err(fault);
        }
        let is_number = stored(&open.warnings().await?).is_err();
        open.back().await?;
        Ok(is_number)
    }

    /// Runs the shop's statements one by one.
    async fn tell_alone(&self, open: &mut Open, steps: &[Step]) -> Result<(), Fault> {
        let modes = open.results("SELECT @@sql_mode").await.map_err(|(_, error)| error)?;
        for result in &modes {
            // Not an error here: the warnings are asked for either way.
            _ = self.judge(TextResult::Modes, result, &[], false);
        }
        let is_strict = self.is_strict.load(Ordering::Relaxed);
        for (number, step) in steps.iter().enumerate() {
            for statement in self.statements.of(step.change) {
                let changed = open.run(&statement.sql, &statement.args(step)).await;
                let about = about(statement);
                let changed = changed.map_err(|error| Fault::from(error).about(&about))?;
                if number == 0 || !is_strict || statement.is_lax() {
                    let warnings = open.warnings().await?;
                    stored(&warnings).map_err(|what| other_value(&about, &what))?;
                }
                if changed == 0 && !statement.may_change_nothing {
                    return Err(unchanged(statement, step));
                }
            }
        }
        Ok(())
    }
}

/// An error if the database has stored another value than it was given, or may have.
fn stored(warnings: &[Vec<String>]) -> Result<(), String> {
    let is_other = |warning: &&Vec<String>| {
        warning.get(1).is_some_and(|number| OTHER.contains(&number.as_str()))
    };
    let text = match warnings.iter().find(is_other) {
        Some(warning) => warning.get(2).map(|text| sanitize(text)).unwrap_or_default(),
        None if warnings.len() < WARNINGS_TOLD => return Ok(()),
        None => "there are more warnings than the database tells".to_owned(),
    };
    Err(text)
}

fn other_value(of: &str, what: &str) -> Fault {
    Fault::Refused(format!("{of}, stores another value: {what}"))
}

fn about(statement: &ShopStatement) -> String {
    format!("--statements, {}", statement.place)
}

fn unchanged(statement: &ShopStatement, step: &Step) -> Fault {
    let [order, voucher] = [&step.key.order, &step.key.voucher].map(|id| sanitize(id));
    Fault::Unchanged(format!(
        "{}, changed no row for order {order} of voucher {voucher} (if that is right, \
         may_change_nothing = true beside its sql; see --on-zero-rows)",
        about(statement)
    ))
}
