//! Examines a selling script: alone, then beside the module.

use std::collections::BTreeMap;

use anyhow::Result;
use domain::fields::ORDER_FIELDS;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};

use crate::cluster::Cluster;
use crate::codes::{Accepted, Codes, Runs};
use crate::crowd::{self, Crowd};
use crate::cure::Cure;
use crate::findings::{Facts, Finding, Weight, half_done};
use crate::reply::Reply;
use crate::report::{Examined, Kind, Row, Sameness, Verdict};
use crate::roles::Roles;
use crate::scenario::{self, Ran, Scenario};
use crate::server::{Programs, Server};
use crate::shape::{Shape, Try};
use crate::source::Source;
use crate::state;
use crate::trace::Watch;

/// The two servers that all scripts share.
pub struct Pair {
    pub plain: Server,
    pub module: Server,
}

/// `Err` in the inner result says why the script is not understood.
pub fn examine(
    programs: &Programs,
    pair: &Pair,
    source: &Source,
    roles: &Roles,
) -> Result<std::result::Result<Examined, String>> {
    let mut watch = Watch::of(&pair.plain)?;
    let shape = match Shape::of(&mut watch, source, roles)? {
        Ok(shape) => shape,
        Err(why) => return Ok(Err(why)),
    };
    drop(watch);
    let scenarios = scenario::all(&shape);
    let runs = run_all(&pair.plain, &scenarios, &shape, &source.text)?;
    let tries: BTreeMap<&'static str, Vec<Try>> =
        scenarios.iter().map(|scenario| (scenario.name, scenario.tries.clone())).collect();
    let codes = Codes::of(&shape, &runs, &tries);
    let mut obstacles = shape.obstacles.clone();
    obstacles.extend(unspeakable(&codes, &runs));
    let no_stock =
        obstacles.iter().any(|obstacle| obstacle.contains("hash") && obstacle.contains("stock"));
    // A stock that was never planted proves nothing.
    let mut findings = if no_stock {
        Vec::new()
    } else {
        Facts { shape: &shape, codes: &codes, runs: &runs, tries: &tries }.findings()
    };
    let cure = if obstacles.is_empty() {
        Cure::of(&shape, &codes, &runs, &tries[scenario::BUYS][0])
    } else {
        None
    };
    let cluster = Cluster::examine(programs, &shape, &source.text, cure.as_ref())?;
    findings.extend(cluster.findings.iter().cloned());
    let mut rows = Vec::new();
    match &cure {
        Some(cure) => {
            rows = beside(pair, &scenarios, &shape, &runs, cure)?;
            rows.push(crowds(pair, &shape, &source.text, Some(cure))?);
        }
        None if !no_stock => {
            rows.extend(
                scenarios.iter().map(|scenario| alone(scenario.name, &runs[scenario.name])),
            );
            rows.push(crowds(pair, &shape, &source.text, None)?);
        }
        None => {}
    }
    let verdict = verdict(&findings, &rows, cure.as_ref());
    Ok(Ok(Examined {
        file: source.name.clone(),
        kind: Kind::Sale,
        verdict,
        understood: understood(&shape, (!no_stock).then_some(&codes)),
        rows,
        findings,
        obstacles,
        settings: cure.as_ref().map(|cure| cure.settings.clone()).unwrap_or_default(),
        keys_because: cure.as_ref().and_then(|cure| cure.keys_because.clone()),
        notes: cure.as_ref().map(|cure| cure.notes.clone()).unwrap_or_default(),
        direct: cure.as_ref().and_then(|cure| cure.direct.clone()),
        replacement: cure.map(|cure| cure.script),
        cluster: Some(cluster),
    }))
}

fn run_all(server: &Server, scenarios: &[Scenario], shape: &Shape, script: &[u8]) -> Result<Runs> {
    let mut client = server.client()?;
    let run = |scenario: &Scenario| Ok((scenario.name, scenario.run(&mut client, shape, script)?));
    scenarios.iter().map(run).collect()
}

/// Replies that a line of Lua can't put in place of numbers.
fn unspeakable(codes: &Codes, runs: &Runs) -> Option<String> {
    let accepted = match &codes.accepted {
        Some(Accepted::Code(reply)) => Some(reply),
        _ => None,
    };
    let replies = [accepted, codes.sold_out.as_ref(), codes.bought.as_ref()];
    if let Some(list) = replies.into_iter().flatten().find(|reply| reply.lua().is_none()) {
        return Some(format!("replies {list}, which is no single value"));
    }
    let varies = codes.accepted == Some(Accepted::Varies);
    let two = || {
        let (one, other) = (runs[scenario::BUYS].first(), runs[scenario::LAST].first());
        format!("replies something else to every accepted try: {one}, then {other}")
    };
    varies.then(two)
}

/// The replacement in every scenario, compared with what the script did there.
fn beside(
    pair: &Pair,
    scenarios: &[Scenario],
    shape: &Shape,
    theirs: &Runs,
    cure: &Cure,
) -> Result<Vec<Row>> {
    let mut client = pair.module.client()?;
    for (name, value) in DEFAULTS {
        client.must(&["CONFIG", "SET", name, value])?;
    }
    for (name, value) in &cure.settings {
        client.must(&["CONFIG", "SET", name, value])?;
    }
    let ours = run_all(&pair.module, scenarios, shape, cure.script.as_bytes())?;
    let row = |scenario: &Scenario| compare(scenario, &theirs[scenario.name], &ours[scenario.name]);
    Ok(scenarios.iter().map(row).collect())
}

/// The configurations that the doctor changes, at their defaults.
const DEFAULTS: [(&str, &str); 6] = [
    ("seckill.stock-prefix", STOCK_PREFIX),
    ("seckill.buyers-prefix", BUYERS_PREFIX),
    ("seckill.order-stream", ORDER_STREAM),
    ("seckill.order-fields", ORDER_FIELDS),
    ("seckill.missing-stock", "error"),
    ("seckill.unlimited-stock", "no"),
];

fn compare(scenario: &Scenario, theirs: &Ran, ours: &Ran) -> Row {
    let mut differences = Vec::new();
    for (number, (yours, module)) in theirs.replies.iter().zip(&ours.replies).enumerate() {
        if !yours.is_like(module) && differences.len() < 2 {
            let place = if ours.replies.len() > 1 {
                format!("try {}: ", number + 1)
            } else {
                String::new()
            };
            differences.push(format!("{place}your script replies {yours}, the module {module}"));
        }
    }
    for (key, yours, module) in state::differences(theirs.after(), ours.after()).into_iter().take(3)
    {
        differences.push(format!("{key}: your script leaves {yours}, the module {module}"));
    }
    // Damage is refused by the module, whatever the script makes of it.
    let refuses = ours.replies.iter().all(Reply::refuses) && ours.before() == ours.after();
    let sameness = if differences.is_empty() {
        Sameness::Same
    } else if refuses && (scenario.is_damaged() || half_done(theirs)) {
        Sameness::Refused
    } else {
        Sameness::Differs
    };
    let (yours, module) = (said(&theirs.replies), Some(said(&ours.replies)));
    Row { name: scenario.name.into(), yours, module, sameness, differences }
}

fn alone(name: &str, ran: &Ran) -> Row {
    Row {
        name: name.into(),
        yours: said(&ran.replies),
        module: None,
        sameness: Sameness::Alone,
        differences: Vec::new(),
    }
}

/// Replies in a row of a table: `0, 2`, or `10 x 0, 20 x 1` when they are many.
fn said(replies: &[Reply]) -> String {
    let short = |reply: &Reply| match reply {
        Reply::Error(text) | Reply::Refusal(text) => {
            text.split(' ').next().map(|word| match word {
                "ERR" | "" => "error".to_owned(),
                word => format!("error {word}"),
            })
        }
        other => Some(other.to_string()),
    };
    let words: Vec<String> = replies.iter().filter_map(short).collect();
    if words.len() <= 3 {
        return words.join(", ");
    }
    // In the order in which they came up.
    let mut counts: Vec<(&String, usize)> = Vec::new();
    for word in &words {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    if counts.len() > 3 {
        return format!("{} different replies", counts.len());
    }
    let counts: Vec<_> = counts.iter().map(|(word, count)| format!("{count} x {word}")).collect();
    counts.join(", ")
}

fn crowds(pair: &Pair, shape: &Shape, script: &[u8], cure: Option<&Cure>) -> Result<Row> {
    let shown = |crowd: &Crowd| {
        let sold = crowd.left.map_or("?".into(), |left| (crowd::UNITS - left).to_string());
        let errors =
            if crowd.errors > 0 { format!(", {} errors", crowd.errors) } else { String::new() };
        let buyers = crowd.buyers.map_or(String::new(), |count| format!(", {count} buyers"));
        format!("{sold} sold{buyers}{errors}")
    };
    let yours = Crowd::send(&pair.plain, shape, script)?;
    let module = match cure {
        Some(cure) => Some(Crowd::send(&pair.module, shape, cure.script.as_bytes())?),
        None => None,
    };
    let sameness = match &module {
        None => Sameness::Alone,
        Some(module) if *module == yours => Sameness::Same,
        Some(_) => Sameness::Differs,
    };
    let mut differences = Vec::new();
    if let Some(module) = module.as_ref().filter(|module| **module != yours) {
        differences.push(format!("your script: {}, {} orders", shown(&yours), yours.orders));
        differences.push(format!("the module: {}, {} orders", shown(module), module.orders));
    }
    Ok(Row {
        name: format!("{} users at once, {} units", crowd::USERS, crowd::UNITS),
        yours: shown(&yours),
        module: module.as_ref().map(shown),
        sameness,
        differences,
    })
}

fn verdict(findings: &[Finding], rows: &[Row], cure: Option<&Cure>) -> Verdict {
    let broken = findings.iter().any(|finding| finding.weight == Weight::Broken);
    let differs = rows.iter().any(|row| row.sameness == Sameness::Differs);
    match cure {
        _ if broken => Verdict::Broken,
        None => Verdict::Differs,
        Some(_) if differs => Verdict::Differs,
        Some(_) => Verdict::DropIn,
    }
}

fn understood(shape: &Shape, codes: Option<&Codes>) -> Vec<(&'static str, String)> {
    let shown = |key: &crate::template::Template| key.shown(&|slot| shape.name(slot));
    let call: Vec<_> = shape
        .slots
        .iter()
        .map(|slot| {
            let name = shape.name(*slot);
            if name == slot.to_string() { name } else { format!("{slot} {name}") }
        })
        .collect();
    let mut lines = vec![("called with", call.join(", ")), ("stock", shown(&shape.stock))];
    if let Some(buyers) = &shape.buyers {
        lines.push(("buyers", shown(buyers)));
    }
    match &shape.orders {
        Some(orders) => {
            lines.push((
                "orders",
                format!("{}, fields {}", shown(&orders.stream), orders.fields.join(" ")),
            ));
        }
        None => {
            let own = shape.extras.iter().any(|call| call[0].constant() == Some(b"XADD"));
            lines.push(("orders", if own { "in a form of its own" } else { "no stream" }.into()));
        }
    }
    for call in &shape.extras {
        lines.push(("also", call.iter().map(shown).collect::<Vec<_>>().join(" ")));
    }
    let Some(codes) = codes else { return lines };
    let code = |reply: Option<&Reply>, what: &str| reply.map(|reply| format!("{reply} {what}"));
    let accepted = match &codes.accepted {
        Some(Accepted::Code(reply)) => code(Some(reply), "accepted"),
        Some(Accepted::Left) => Some("the units left when accepted".into()),
        Some(Accepted::Varies) | None => None,
    };
    let replies = [
        accepted,
        code(codes.sold_out.as_ref(), "sold out"),
        code(codes.bought.as_ref(), "already bought"),
        code(codes.missing.as_ref(), "without a stock key"),
    ];
    let replies: Vec<_> = replies.into_iter().flatten().collect();
    if !replies.is_empty() {
        lines.push(("replies", replies.join(", ")));
    }
    lines
}
