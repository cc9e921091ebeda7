//! Names the memories of an answer that should not be trusted without a check.

use super::CommandContext;
use crate::answer::{Text, memories::Marks};
use cerebro_core::domain::{ChunkId, ExchangeId};

/// How many flagged memories are named below a list.
const FLAGGED_NAMED: usize = 5;

/// Says of each listed memory why it should not be trusted without a check.
pub fn print_marks<'a>(
    context: &CommandContext,
    listed: impl Iterator<Item = (&'a Text, &'a Marks)> + Clone,
) {
    if let Some(words) = flagged(listed.clone().map(|(id, marks)| (id, marks.flag.as_ref()))) {
        context.output.note(&words);
    }
    for (id, marks) in listed {
        let id = id.raw();
        let is_evidence = ChunkId::parse(id).is_ok() || ExchangeId::parse(id).is_ok();
        let old = |newer: &Text| {
            if is_evidence { repeating(id, newer) } else { format!("{id} is superseded by {}", newer.raw()) }
        };
        let archived = || format!("{id} is archived; `cerebro unarchive {id}` takes it out of the archive");
        let expired = || format!("{id} has expired: its last valid date is over");
        let stale = |words: &Text| format!("{id} is stale here: {}", words.raw());
        let newer = |newer: &Text| format!("{id} may be out of date: {} is newer", newer.raw());
        let said = [
            marks.old.as_ref().map(old),
            marks.archived.then(archived),
            marks.expired.then(expired),
            marks.stale.as_ref().map(stale),
            marks.newer.as_ref().map(newer),
        ];
        said.iter().flatten().for_each(|words| context.output.note(words));
    }
}

/// Says of evidence that it repeats what a memory no longer says.
pub fn repeating(id: &str, now: &Text) -> String {
    format!("{id} says what no longer holds: see {}", now.raw())
}

/// A warning about the listed memories whose text reads like an instruction: the id and the flag of each.
pub fn flagged<'a>(listed: impl Iterator<Item = (&'a Text, Option<&'a Text>)>) -> Option<String> {
    let named = |(id, flag): (&Text, Option<&Text>)| Some(format!("{} ({})", id.raw(), flag?.raw()));
    let mut named: Vec<String> = listed.filter_map(named).collect();
    if named.is_empty() {
        return None;
    }
    if named.len() > FLAGGED_NAMED {
        let rest = named.split_off(FLAGGED_NAMED).len();
        named.push(format!("{rest} more"));
    }
    Some(format!("flagged, because the text reads like an instruction: {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flagged_memories_are_named_and_many_are_counted() {
        let row = |id: usize, flag: Option<&str>| (Text::from(format!("k{id}")), flag.map(Text::from));
        let said = |rows: &[(Text, Option<Text>)]| flagged(rows.iter().map(|(id, flag)| (id, flag.as_ref())));
        assert_eq!(said(&[row(1, None)]), None);
        let one = said(&[row(1, Some("override exec")), row(2, None)]).unwrap();
        assert_eq!(one, "flagged, because the text reads like an instruction: k1 (override exec)");
        let many: Vec<_> = (1..=8).map(|id| row(id, Some("exec"))).collect();
        assert!(said(&many).unwrap().ends_with("k4 (exec), k5 (exec), 3 more"), "{:?}", said(&many));
    }
}
