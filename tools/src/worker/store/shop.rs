//! Runs the shop's own statements in the transaction that writes the rows.

use std::sync::atomic::Ordering;

use tracing::info;

use super::statement::{Arg, Dialect};
use super::transaction::Open;
use super::{Fault, Store, now_ms};
use crate::batch::{Plan, Step};
use crate::statements::block::{Part, told};

impl Store {
    /// Runs the shop's statements, and adds to the sums. Workers wait for each other at the row of
    /// a voucher, so it is written last and locked briefly.
    pub(super) async fn tell_shop(&self, open: &mut Open, plan: &Plan) -> Result<(), Fault> {
        let with_statements = !self.statements.is_empty();
        let sales = self.tables.sales(&plan.sales, with_statements, now_ms());
        let sales = Some(&sales).filter(|_| !plan.sales.is_empty());
        if self.tables.dialect == Dialect::MySql && !plan.steps.is_empty() {
            return self.tell_texts(open, &plan.steps, sales).await;
        }
        self.tell_all(open, &plan.steps).await?;
        if let Some(sales) = sales {
            open.execute(sales).await?;
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
}
