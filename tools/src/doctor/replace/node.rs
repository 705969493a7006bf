//! What a script and its line do on a node of a cluster.

use anyhow::Result;

use crate::bench::{Entry, Seen};
use crate::conf::Setting;
use crate::examine::Examination;
use crate::history::History;
use crate::reply::Reply;
use crate::wire::Words;

impl Examination<'_, '_, '_> {
    /// What a node does that has the slots of the KEYS, and no others.
    pub(super) fn on_node(
        &mut self,
        histories: &[History],
        settings: &[Setting],
        is_native: bool,
        lua: &str,
    ) -> Result<String> {
        if self.call.keys.is_empty() {
            return Ok("not compared: the call names no key, so no client finds its node".into());
        }
        let nodes = self.bench.nodes()?;
        let loaded = nodes.plain.load(self.text, self.call.function.as_deref())?;
        let refused = nodes.set(settings)?;
        let ours = match is_native {
            true => Ok(Entry::Sha(self.said.sha1.clone())),
            false => nodes.module.load(lua.as_bytes(), None)?,
        };
        let (Ok(_), None, Ok(ours)) = (loaded, refused, ours) else {
            return Ok("not compared: a node refuses to load them".into());
        };
        let mut same = 0;
        for history in histories {
            nodes.clear()?;
            let keys = |values| self.call.keys.iter().map(move |word| word.value(values));
            let keys: Words = history.steps.iter().flat_map(|step| keys(&step.values)).collect();
            let own = nodes.plain.slots(&keys)?.into_iter();
            let own = own.map(|slot| vec![b"CLUSTER".to_vec(), b"ADDSLOTS".to_vec(), slot]);
            nodes.prepare(&own.collect::<Vec<_>>())?;
            for step in &history.steps {
                nodes.prepare(&step.before)?;
                let before = nodes.plain.keys()?;
                let yours = nodes.plain.run_blind(&step.words(&self.entry, &self.call))?;
                let ours = nodes.module.run_blind(&step.words(&ours, &self.call))?;
                let is_same = yours.after.is_same(&ours.after) && yours.reply.is_like(&ours.reply);
                if is_same && !is_of_cluster(&ours.reply) {
                    same += 1;
                    continue;
                }
                let did = |Seen { reply, after, .. }: &Seen| match reply.refuses() {
                    true if after.is_same(&before) => {
                        format!("is refused ({reply}) and changes nothing")
                    }
                    true => format!("stops half-way ({reply})"),
                    false => format!("replies {reply}"),
                };
                return Ok(format!(
                    "on a node that has the slots of the KEYS, the script {}, and the line {}",
                    did(&yours),
                    did(&ours)
                ));
            }
        }
        Ok(format!("{same} calls on a node that has the slots of the KEYS, the same"))
    }
}

/// Whether a server answers so because it is a node of a cluster.
fn is_of_cluster(reply: &Reply) -> bool {
    let text = reply.text().to_lowercase();
    reply.refuses() && ["slot", "cluster", "moved", "ask "].iter().any(|word| text.contains(word))
}
