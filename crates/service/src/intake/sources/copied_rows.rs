//! What a session of OpenCode 1.x copied from another one. A fork gives all that it copies new ids and names no parent; but the
//! copies are older than the fork itself, and have the times of the originals.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::reading::Fault;
use cerebro_transcript::opencode::{MessageRow, PartRow, SessionRow};

/// By the id of a copied message: the id of the original, and the session that it was said in.
type Originals = HashMap<String, (String, String)>;

/// Who speaks in a message of 1.x.
fn role_of(data: &str) -> String {
    let data: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
    data["role"].as_str().unwrap_or_default().to_owned()
}

/// The rows of a session, in which copied messages have the ids of the originals, as copies of other agents have them. A copy
/// names the session that it copied last as its parent.
pub(super) fn renamed(
    connection: &Connection,
    mut session: SessionRow,
    mut messages: Vec<MessageRow>,
    mut parts: Vec<PartRow>,
) -> Result<(SessionRow, Vec<MessageRow>, Vec<PartRow>), Fault> {
    let originals = originals(connection, &session, &messages)?;
    let Some((_, parent)) = messages.iter().rev().find_map(|message| originals.get(&message.id)) else {
        return Ok((session, messages, parts));
    };
    session.forked_from.get_or_insert_with(|| parent.clone());
    // What was taken back is named by its id, too.
    session.revert = session.revert.map(|json| {
        originals.iter().fold(json, |json, (id, (original, _))| json.replace(id.as_str(), original))
    });
    let ids = messages.iter_mut().map(|message| &mut message.id);
    for id in ids.chain(parts.iter_mut().map(|part| &mut part.message)) {
        if let Some((original, _)) = originals.get(id.as_str()) {
            id.clone_from(original);
        }
    }
    Ok((session, messages, parts))
}

/// The messages that a session copied from others.
fn originals(
    connection: &Connection,
    session: &SessionRow,
    messages: &[MessageRow],
) -> Result<Originals, Fault> {
    let Some(begun) = session.created_ms else { return Ok(Originals::new()) };
    let older = messages.iter().filter(|message| message.created_ms.is_some_and(|at| at < begun));
    let times: Vec<i64> = older.filter_map(|message| message.created_ms).collect();
    let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else {
        return Ok(Originals::new());
    };
    let query = "SELECT message.id, message.session_id, message.time_created, message.data FROM message \
                 JOIN session ON session.id = message.session_id WHERE message.session_id <> ?1 \
                 AND message.time_created BETWEEN ?2 AND ?3 AND session.time_created <= message.time_created \
                 AND typeof(message.data) = 'text'";
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query(params![session.id, first, last])?;
    // Of messages of two sessions at the same time, none is known to be the original.
    let mut said: HashMap<(i64, String), Option<(String, String)>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let (Ok(id), Ok(owner), Ok(at)) = (row.get(0), row.get(1), row.get(2)) else { continue };
        let key = (at, role_of(row.get_ref(3)?.as_str().unwrap_or_default()));
        said.entry(key).and_modify(|owner| *owner = None).or_insert(Some((id, owner)));
    }
    let original = |message: &MessageRow| {
        let at = message.created_ms.filter(|at| *at < begun)?;
        let original = said.get(&(at, role_of(&message.data)))?.clone()?;
        Some((message.id.clone(), original))
    };
    Ok(messages.iter().filter_map(original).collect())
}

#[cfg(test)]
mod tests {
    use super::super::rows::Database;
    use super::*;
    use cerebro_transcript::lineage;

    #[test]
    fn what_a_fork_of_1_x_copied_has_the_ids_of_the_original() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("opencode.db");
        let writer = Connection::open(&path).unwrap();
        let said = |session: &str, n: u32, at: u32, role: &str, text: &str| {
            format!(
                "INSERT INTO message VALUES ('{session}-m{n}', '{session}', {at}, {at}, '{{\"role\":\"{role}\"}}');
                 INSERT INTO part VALUES ('{session}-p{n}', '{session}-m{n}', '{session}', {at}, {at},
                    '{{\"type\":\"text\",\"text\":\"{text}\"}}');"
            )
        };
        let sessions = "
            CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, time_created INT, time_updated INT);
            CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT);
            CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT, time_updated INT,
                data TEXT);
            INSERT INTO session VALUES ('a', '/w', 'T', 10, 30), ('b', '/w', 'T (fork #1)', 40, 60),
                ('c', '/w', 'T (fork #2)', 70, 90);";
        let talk = [
            said("a", 1, 11, "user", "one"),
            said("a", 2, 12, "assistant", "first"),
            said("a", 3, 50, "user", "elsewhere"),
            said("b", 1, 11, "user", "one"),
            said("b", 2, 12, "assistant", "first"),
            said("b", 3, 51, "user", "two"),
            said("c", 1, 11, "user", "one"),
            said("c", 2, 12, "assistant", "first"),
            said("c", 3, 51, "user", "two"),
            said("c", 4, 80, "user", "three"),
        ];
        writer.execute_batch(&format!("{sessions}{}", talk.concat())).unwrap();
        let database = Database::open(&path).unwrap();
        let found: Vec<(String, Vec<String>, Option<String>)> = database
            .heads(None)
            .unwrap()
            .iter()
            .map(|head| {
                let batch = database.session(head).unwrap();
                let first = batch.exchanges.iter().filter_map(|exchange| exchange.first_id.as_deref());
                let bare = first.filter_map(lineage::bare).map(str::to_owned).collect();
                (head.id.clone(), bare, batch.session.parent.and_then(|parent| parent.session))
            })
            .collect();
        let want = |id: &str, first: &[&str], parent: Option<&str>| {
            let first: Vec<String> = first.iter().map(|id| (*id).to_owned()).collect();
            (id.to_owned(), first, parent.map(str::to_owned))
        };
        assert_eq!(
            found,
            [
                want("c", &["a-m1", "b-m3", "c-m4"], Some("b")),
                want("b", &["a-m1", "b-m3"], Some("a")),
                want("a", &["a-m1", "a-m3"], None),
            ]
        );
    }
}
