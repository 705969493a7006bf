//! Runs the shop's own statements in the transaction that writes the rows.

use std::sync::atomic::Ordering;

use seckill_tools::sanitize::sanitize;
use tracing::info;

use super::statement::Arg;
use super::transaction::Open;
use super::{Fault, Store, now_ms};
use crate::batch::{Plan, Step};
use crate::statements::block::{Part, told};

impl Store {
    /// Runs the shop's statements, and adds to the sums.
    pub(super) async fn tell_shop(&self, open: &mut Open, plan: &Plan) -> Result<(), Fault> {
        self.tell_all(open, &plan.steps).await?;
        // Workers wait for each other at the row of a voucher, so it is written last and locked
        // briefly.
        if !plan.sales.is_empty() {
            let with_statements = !self.statements.is_empty();
            let sales = self.tables.sales(&plan.sales, with_statements, now_ms());
            open.execute(&sales).await?;
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
            let told = told(steps, &self.statements);
            let told = [Arg::Text(&told)];
            let args = |part: &Part| if part.takes_steps { &told[..] } else { &[] };
            let statements: Vec<_> = block.iter().map(|part| (&*part.sql, args(part))).collect();
            match open.try_all(&statements).await?.map_err(Fault::from) {
                Ok(()) => return Ok(()),
                Err(fault) => refused = Some(fault),
            }
        }
        for (number, step) in steps.iter().enumerate() {
            self.tell(open, step, number > 0).await?;
        }
        // The statements are accepted, so the next block would be refused too.
        if let Some(fault) = refused {
            self.one_by_one.store(true, Ordering::Relaxed);
            let text = fault.text();
            info!("the shop's statements are run one by one, which is slower: {text}");
        }
        Ok(())
    }

    /// Runs the shop's statements for a change.
    async fn tell(&self, open: &mut Open, step: &Step, has_sampled: bool) -> Result<(), Fault> {
        for statement in self.statements.of(step.change) {
            let changed = open.run(&statement.sql, &statement.args(step)).await;
            let about = format!("--statements, {}", statement.place);
            let changed = changed.map_err(|error| Fault::from(error).about(&about))?;
            // Without the strict mode a text that is not a number becomes 0: one order shows it.
            if !has_sampled && let Some(warning) = open.other_value().await? {
                return Err(Fault::Failed(format!("{about}, stores another value: {warning}")));
            }
            if changed == 0 && !statement.may_change_nothing {
                let [order, voucher] = [&step.row.key.order, &step.row.key.voucher];
                let [order, voucher] = [order, voucher].map(|id| sanitize(id));
                return Err(Fault::Unchanged(format!(
                    "{about}, changed no row for order {order} of voucher {voucher} (if that is \
                     right, may_change_nothing = true beside its sql; see --on-no-row)"
                )));
            }
        }
        Ok(())
    }
}
