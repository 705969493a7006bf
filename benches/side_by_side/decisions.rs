//! The three outcomes of a try, pipelined, each on a separate stand.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, DECIDING, Outcome};
use crate::figures::{Figure, ratio};
use crate::options::Size;
use crate::stand::Lab;
use crate::tries;
use crate::wire::PIPELINE;

#[derive(Serialize)]
pub struct Decision {
    pub outcome: Outcome,
    pub aof: bool,
    pub costs: Vec<Figure>,
    pub ratios: Ratios,
}

#[derive(Serialize)]
pub struct Ratios {
    pub script_to_seckill: f64,
    pub rm_call_to_seckill: f64,
    pub seckill_to_get: f64,
    pub native_to_seckill: f64,
    pub get_with_scripts_to_get: f64,
}

impl Decision {
    pub fn name(&self) -> String {
        let aof = if self.aof { ", AOF everysec" } else { "" };
        format!("{}{aof}", self.outcome.label())
    }
}

pub fn measure(lab: &Lab, size: Size, outcome: Outcome, aof: bool) -> Result<Decision> {
    let mut stand = lab.stand(aof)?;
    let costs = tries::costs(&mut stand, size, outcome, DECIDING, PIPELINE)?;
    let ratios = Ratios {
        script_to_seckill: ratio(&costs, Contender::Script, Contender::Seckill)?,
        rm_call_to_seckill: ratio(&costs, Contender::RmCall, Contender::Seckill)?,
        seckill_to_get: ratio(&costs, Contender::Seckill, Contender::Get)?,
        native_to_seckill: ratio(&costs, Contender::Native, Contender::Seckill)?,
        get_with_scripts_to_get: ratio(&costs, Contender::GetWithScripts, Contender::Get)?,
    };
    Ok(Decision { outcome, aof, costs, ratios })
}
