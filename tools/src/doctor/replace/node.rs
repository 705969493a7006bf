//! What a script and its line do on a node of a cluster.

use anyhow::Result;

use super::Replacer;
use crate::bench::Entry;
use crate::conf::Setting;
use crate::reply::Reply;
use crate::wire::Words;

impl Replacer<'_, '_> {
    /// What a node does that has the slots of the KEYS, and no others.
    pub(super) fn on_node(
        &mut self,
        settings: &[Setting],
        is_native: bool,
        lua: &str,
    ) -> Result<String> {
        if self.call.keys.is_empty() {
            return Ok("not compared: the call names no key, so no client finds its node".into());
        }
        let nodes = self.bench.nodes()?;
        let loaded = nodes.load(self.text, self.call.function.as_deref())?;
        let refused = nodes.set(settings)?;
        let ours = match is_native {
            true => Ok(Entry::Sha(self.sha.to_owned())),
            false => nodes.load_beside_module(lua.as_bytes())?,
        };
        let (Ok(_), None, Ok(ours)) = (loaded, refused, ours) else {
            return Ok("not compared: a node refuses to load them".into());
        };
        let mut same = 0;
        for history in self.on_nodes {
            nodes.clear()?;
            let keys = |values| self.call.keys.iter().map(move |word| word.value(values));
            let keys: Words = history.steps.iter().flat_map(|step| keys(&step.values)).collect();
            let own = nodes.slots(&keys)?.into_iter();
            let own = own.map(|slot| vec![b"CLUSTER".to_vec(), b"ADDSLOTS".to_vec(), slot]);
            nodes.prepare(&own.collect::<Vec<_>>())?;
            for step in &history.steps {
                nodes.prepare(&step.before)?;
                let before = nodes.keys()?;
                let yours = nodes.run(&step.words(self.script, self.call))?;
                let (reply, _, after) = nodes.replace(&step.words(&ours, self.call), false)?;
                let is_same = yours.after.is_same(&after) && yours.reply.is_like(&reply);
                if is_same && !is_of_cluster(&reply) {
                    same += 1;
                    continue;
                }
                let did = |reply: &Reply, is_unchanged: bool| match (reply.refuses(), is_unchanged)
                {
                    (true, true) => format!("is refused ({reply}) and changes nothing"),
                    (true, false) => format!("stops half-way ({reply})"),
                    _ => format!("replies {reply}"),
                };
                return Ok(format!(
                    "on a node that has the slots of the KEYS, the script {}, and the line {}",
                    did(&yours.reply, yours.after.is_same(&before)),
                    did(&reply, after.is_same(&before))
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
