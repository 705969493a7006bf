//! Replies as Redis 7.0 and 8.10 and Valkey 9.1 write them.

use super::*;

fn id(ms: u64) -> EntryId {
    EntryId { ms, seq: 1 }
}

/// A reply as the server writes it, of words and lines: `*2 a :5 nil` is a list of two and nil.
fn reply(text: &str) -> Value {
    let line = |word: &str| match (word, word.as_bytes()[0]) {
        ("nil", _) => "$-1\r\n".to_owned(),
        ("nils", _) => "*-1\r\n".to_owned(),
        (_, b'*' | b':') => format!("{word}\r\n"),
        _ => format!("${}\r\n{word}\r\n", word.len()),
    };
    let bytes: String = text.split(' ').map(line).collect();
    redis::parse_redis_value(bytes.as_bytes()).unwrap()
}

const OF_7_0: &str = "*20 length :4 radix-tree-keys :1 radix-tree-nodes :2 last-generated-id 5-1 \
                      max-deleted-entry-id 1-1 entries-added :5 recorded-first-entry-id 2-1 \
                      groups :1 first-entry *2 2-1 *2 a 2 last-entry *2 5-1 *2 a 5";
const OF_8_10: &str = "*32 length :4 radix-tree-keys :1 radix-tree-nodes :1 last-generated-id 5-1 \
                       max-deleted-entry-id 1-1 entries-added :5 recorded-first-entry-id 2-1 \
                       idmp-duration :100 idmp-maxsize :100 pids-tracked :0 iids-tracked :0 \
                       iids-added :0 iids-duplicates :0 groups :1 first-entry *2 2-1 *2 a 2 \
                       last-entry *2 5-1 *2 a 5";

#[test]
fn a_stream_of_each_server_is_read() {
    let wanted =
        StreamInfo { length: 4, added: 5, last: id(5), first: Some(id(2)), deleted: id(1) };
    for text in [OF_7_0, OF_8_10] {
        assert_eq!(stream_info(&reply(text)).unwrap(), wanted);
    }
    let empty = OF_7_0.replace("*2 2-1 *2 a 2", "nil").replace("*2 5-1 *2 a 5", "nil");
    let empty = empty.replace("length :4", "length :0");
    assert_eq!(
        stream_info(&reply(&empty)).unwrap(),
        StreamInfo { length: 0, first: None, ..wanted }
    );
    for (word, other) in [("entries-added", "x"), (":5", "many"), ("5-1", "5-x"), ("*20", "*1 *20")]
    {
        let error = stream_info(&reply(&OF_7_0.replace(word, other))).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::UnexpectedReturnType, None), "{word}");
    }
}

#[test]
fn groups_and_consumers_are_read() {
    let text = "*2 *12 name g consumers :1 pending :2 last-delivered-id 2-1 entries-read :2 lag :3 \
                *12 name h consumers :0 pending :0 last-delivered-id 0-0 entries-read nil lag nil";
    let found = groups(&reply(text)).unwrap();
    let group = |name: &str, pending, last_delivered, read, lag| GroupInfo {
        name: name.into(),
        pending,
        last_delivered,
        read,
        lag,
    };
    let wanted =
        [group("g", 2, id(2), Some(2), Some(3)), group("h", 0, EntryId::default(), None, None)];
    assert_eq!(found, wanted);
    assert!(groups(&reply(&text.replace("lag", "log"))).is_err());
    assert!(groups(&Value::Nil).is_err() && groups(&Value::Okay).is_err());

    // Redis 7.0, then 7.2 and later.
    for (text, idle_ms) in [
        ("*1 *6 name c pending :2 idle :202", 202),
        ("*1 *8 name c pending :2 idle :201 inactive :201", 201),
    ] {
        let wanted = ConsumerInfo { name: b"c".to_vec(), pending: 2, idle_ms };
        assert_eq!(consumers(&reply(text)).unwrap(), [wanted]);
    }
    assert!(consumers(&reply("*1 *4 name c pending :2")).is_err());
}

#[test]
fn pending_entries_are_read() {
    let found = pending(&reply("*2 *4 1-1 c :303 :1 *4 2-1 c :303 :7")).unwrap();
    let one = |ms, deliveries| Pending { id: id(ms), deliveries };
    assert_eq!(found, [one(1, 1), one(2, 7)]);
    assert!(pending(&reply("*0")).unwrap().is_empty());
    assert!(pending(&reply("*1 *3 1-1 c :303")).is_err());
}

#[test]
fn entries_keep_fields_of_one_name() {
    let text = "*1 *2 s *2 *2 1-1 *4 a 1 a 2 *2 2-1 *2 a 2";
    let read = reply(text);
    let read = streams(read).unwrap();
    let pair = |value: &str| (b"a".to_vec(), value.as_bytes().to_vec());
    let first = StreamEntry { id: id(1), fields: vec![pair("1"), pair("2")] };
    let second = StreamEntry { id: id(2), fields: vec![pair("2")] };
    assert_eq!(read, [(b"s".to_vec(), vec![first, second.clone()])]);
    assert!(streams(Value::Nil).unwrap().is_empty());
    for (part, other) in
        [("*2 2-1 *2 a 2", "*2 2-1 nils"), ("*4 a 1 a 2", "*3 a 1 a"), ("1-1", "x")]
    {
        assert!(streams(reply(&text.replace(part, other))).is_err(), "{part}");
    }
    let found = taken(reply("*3 0-0 *1 *2 2-1 *2 a 2 *1 3-1")).unwrap();
    let claimed = Claimed { entries: vec![second], deleted: vec![id(3)], ..Claimed::default() };
    assert_eq!(found, (claimed, None));
    assert_eq!(taken(reply("*3 9-1 *0 *0")).unwrap().1, Some(id(9)));
    assert!(taken(reply("*2 0-0 *0")).is_err());
}
