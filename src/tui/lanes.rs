//! The lanes next to the list of sessions. They show threads of sessions that continue each other.

use crate::view::Session;

/// The lanes next to one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lanes {
    /// The session's own lane.
    pub own: usize,
    /// For each lane, whether it is drawn above the session.
    pub above: Vec<bool>,
    /// For each lane, whether it continues below the session.
    pub below: Vec<bool>,
}

/// Assigns a lane to each session, the newest first: that of a later session which continues it, or a free one.
pub fn lanes(rows: &[Session]) -> Vec<Lanes> {
    let mut waiting: Vec<Option<&str>> = Vec::new();
    let mut lanes = Vec::with_capacity(rows.len());
    for session in rows {
        let above: Vec<bool> = waiting.iter().map(Option::is_some).collect();
        let expected = waiting.iter().position(|id| *id == Some(session.id.as_str()));
        let own = expected.unwrap_or_else(|| {
            waiting.iter().position(Option::is_none).unwrap_or_else(|| {
                waiting.push(None);
                waiting.len() - 1
            })
        });
        // Other lanes that continue the same session end here, too.
        for lane in &mut waiting {
            lane.take_if(|id| *id == session.id);
        }
        waiting[own] = Some(session.follows.as_str()).filter(|id| !id.is_empty());
        let below = waiting.iter().map(Option::is_some).collect();
        lanes.push(Lanes { own, above, below });
        while waiting.last().is_some_and(Option::is_none) {
            waiting.pop();
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, follows: &str) -> Session {
        Session { id: id.to_owned(), follows: follows.to_owned(), ..Session::default() }
    }

    #[test]
    fn sessions_that_follow_each_other_share_a_lane() {
        // d continues b, c continues a, b continues a, and a is the first one.
        let rows =
            [session("d", "b"), session("c", "a"), session("b", "a"), session("a", ""), session("z", "")];
        let lanes = lanes(&rows);
        assert_eq!(lanes.iter().map(|lane| lane.own).collect::<Vec<_>>(), [0, 1, 0, 0, 0]);
        assert_eq!(lanes[1].above, [true]);
        assert_eq!(lanes[1].below, [true, true]);
        assert_eq!(lanes[3].above, [true, true]);
        assert_eq!(lanes[3].below, [false, false], "both threads end where they began");
        assert_eq!(lanes[4].above, [false; 0]);
    }
}
