//! A person says that a server without the mark of the rows is theirs from now on.

use anyhow::{Result, bail, ensure};
use domain::entry_id::EntryId;
use seckill_tools::nodes::Nodes;
use seckill_tools::sanitize::sanitize;

use crate::dead_letter::is_confirmed;
use crate::halt::Halt;
use crate::marks::{self, Mark, Marks, Meaning};
use crate::options::Settle;
use crate::source::Source;
use crate::store::Store;

pub async fn adopt(wanted: &Settle, store: &Store) -> Result<()> {
    let site = &wanted.site;
    let streams = site.streams_of(wanted.tag.as_deref());
    let unasked = |error| Halt::Redis(error).told(site);
    let mut nodes = Nodes::new(site.server.place()?);
    let connection = nodes.connect(&streams.orders).await.map_err(unasked)?;
    let mut source = Source::new(connection, streams.clone(), &site.group, "settle");
    let marks = Marks::read(&mut source, store).await?;
    if let Meaning::Same(_) = marks.meaning() {
        bail!("nothing to adopt: the server has the mark of the rows");
    }
    let of = |mark: &Option<String>| mark.as_deref().map_or("none".to_owned(), sanitize);
    let rows = store.row_count().await?;
    println!(
        "server {}, {}: mark {}",
        site.server.without_password(),
        streams.orders,
        of(&marks.server)
    );
    let mut entries = Vec::new();
    for which in source.all() {
        let count = match source.is_there(which).await.map_err(unasked)? {
            true => {
                source.unread(which, EntryId::default(), None).await.map_err(unasked)?.to_string()
            }
            false => "no stream".to_owned(),
        };
        entries.push(format!("{}: {count}", source.name(which)));
    }
    println!("entries there: {}", entries.join(", "));
    println!("database {}: {rows} rows, mark {}", store.database(), of(&marks.rows));
    println!("The rows will follow this server: orders that it lacks count as lost.");
    if !wanted.yes {
        ensure!(is_confirmed()?, "nothing was done");
    }
    let mark = match marks.server.as_deref().and_then(Mark::parse) {
        Some(mark) => mark.text(),
        None => {
            let mark = Mark::of(&mut source).await.map_err(unasked)?.text();
            marks::set(&mut source, &mark).await.map_err(unasked)?;
            mark
        }
    };
    store.set_mark(&streams.orders, &site.group, &mark).await?;
    println!("adopted: mark {mark}");
    store.close().await;
    Ok(())
}
