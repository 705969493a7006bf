//! The first start of workers on an empty database, and what is not a first start.

use crate::shop::{GROUP, STREAMS, Shop};

impl Shop {
    /// What the tables say of a group: how many entries it lacks, and why it is to be checked.
    fn doubts(&self, group: &str) -> [String; 2] {
        let rest = format!("FROM seckill_groups WHERE group_name = '{group}'");
        let columns = ["deleted", "COALESCE(unchecked, 'nothing')"];
        let [row] = &self.database.texts(columns, &rest)[..] else { panic!("{rest}") };
        row.clone()
    }
}

/// The ids of the entries up to which another consumer has read are a part of the pairing id.
#[test]
fn a_group_that_has_read_entries_of_any_ids_is_paired() {
    for shop in Shop::on_each("phone 100") {
        for stream in STREAMS {
            let id = format!("{}-{}", u64::MAX, u64::MAX - 1);
            shop.run(&format!("XADD {stream} {id} a b"));
            shop.run(&format!("XGROUP CREATE {stream} {GROUP} {id}"));
        }
        shop.drain(&[]);
        assert_eq!(shop.doubts(GROUP), ["0", "nothing"]);
    }
}
