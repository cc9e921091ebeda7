//! Which sessions have an agent at work: the connections of agents' servers, the processes of hooks, and since when a
//! session has no connection.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Mutex,
};

use cerebro_core::domain::{SessionId, Timestamp, limits::DISCONNECT_GRACE};
use cerebro_core::sync::lock;

/// Most sessions for which the processes of hooks are recorded.
const HOOKED_MAX: usize = 1_024;

/// The sessions of this process's clients.
#[derive(Debug, Default)]
pub struct Presence {
    /// When sessions lost their last connection.
    disconnected: Mutex<HashMap<SessionId, Timestamp>>,
    /// How many servers of agents work in each session now. Hooks and commands are not counted.
    agents: Mutex<HashMap<SessionId, usize>>,
    /// The ancestors of each session's hooks, and when the last one ran. One of the ancestors is also one of the agent's server.
    hooked: Mutex<HashMap<SessionId, (Vec<u32>, Timestamp)>>,
    /// The agents' processes of servers that were not told a session, by their numbers among the clients.
    nameless: Mutex<HashMap<u64, u32>>,
    /// The sessions of servers whose agents did not name a session, each with the agent's process.
    unnamed: Mutex<HashMap<SessionId, u32>>,
}

impl Presence {
    /// When each session without a connection lost its last one.
    pub fn disconnected(&self) -> HashMap<SessionId, Timestamp> {
        lock(&self.disconnected).clone()
    }

    /// Removes the sessions that lost their connection before a moment.
    pub fn forget_disconnected_before(&self, moment: Timestamp) {
        lock(&self.disconnected).retain(|_, at| *at >= moment);
    }

    /// Records that a session lost its last connection.
    pub(super) fn session_disconnected(&self, session: SessionId, at: Timestamp) {
        lock(&self.disconnected).insert(session, at);
    }

    /// Records that a session has a connection again.
    pub(super) fn session_connected(&self, session: &SessionId) {
        lock(&self.disconnected).remove(session);
    }

    /// Records that an agent's server works in a session.
    pub(super) fn agent_joined(&self, session: &SessionId) {
        *lock(&self.agents).entry(session.clone()).or_default() += 1;
    }

    /// Records that an agent's server left a session. Returns whether it was the last one.
    pub(super) fn agent_left(&self, session: &SessionId) -> bool {
        let mut agents = lock(&self.agents);
        match agents.get_mut(session) {
            Some(count) if *count > 1 => {
                *count -= 1;
                false
            }
            Some(_) => agents.remove(session).is_some(),
            None => false,
        }
    }

    /// Records the ancestors of a session's hook.
    pub(super) fn hook_ran(&self, session: &SessionId, ancestors: &[u32], now: Timestamp) {
        let mut hooked = lock(&self.hooked);
        if hooked.len() >= HOOKED_MAX && !hooked.contains_key(session) {
            hooked.clear();
        }
        hooked.insert(session.clone(), (ancestors.to_vec(), now));
    }

    /// Removes and returns the sessions whose hooks a process started.
    pub(super) fn take_sessions_of_hooks(&self, ancestor: u32) -> Vec<SessionId> {
        let mut hooked = lock(&self.hooked);
        let is_of_it = |_: &SessionId, hook: &mut (Vec<u32>, Timestamp)| hook.0.contains(&ancestor);
        hooked.extract_if(is_of_it).map(|(session, _)| session).collect()
    }

    /// Removes the ancestors of a session's hooks, because its agent is gone.
    pub(super) fn forget_hooks(&self, session: &SessionId) {
        lock(&self.hooked).remove(session);
    }

    /// Records that a client is the server of an agent's process, which did not tell it the session.
    pub(super) fn nameless_joined(&self, client: u64, agent: u32) {
        lock(&self.nameless).insert(client, agent);
    }

    /// Removes what [`Self::nameless_joined`] recorded.
    pub(super) fn nameless_left(&self, client: u64) {
        lock(&self.nameless).remove(&client);
    }

    /// Records that the server of an agent's process works in a session that the agent did not name.
    pub(super) fn unnamed_began(&self, session: &SessionId, agent: u32) {
        lock(&self.unnamed).insert(session.clone(), agent);
    }

    /// Removes what [`Self::unnamed_began`] recorded.
    pub(super) fn unnamed_ended(&self, session: &SessionId) {
        lock(&self.unnamed).remove(session);
    }

    /// The session, not named by its agent, in which the server of one of these processes works; `None` if there are
    /// several.
    pub(super) fn unnamed_session_of(&self, agents: &[u32]) -> Option<SessionId> {
        let unnamed = lock(&self.unnamed);
        let mut found =
            unnamed.iter().filter(|(_, agent)| agents.contains(agent)).map(|(session, _)| session);
        found.next().filter(|_| found.next().is_none()).cloned()
    }

    /// The sessions in which an agent with a server works. If the server does not name its session, it is the one whose hooks
    /// the same process started, until [`DISCONNECT_GRACE`] after the last of them: one process may have several sessions.
    pub(super) fn at_work(&self, now: Timestamp) -> BTreeSet<SessionId> {
        let named = lock(&self.agents).keys().cloned().collect::<Vec<_>>();
        let agents: Vec<u32> = lock(&self.nameless).values().copied().collect();
        let lately = now.checked_sub(DISCONNECT_GRACE).unwrap_or(Timestamp::MIN);
        let hooked = lock(&self.hooked);
        let is_at_work = |(ancestors, last): &(Vec<u32>, Timestamp)| {
            *last >= lately && ancestors.iter().any(|ancestor| agents.contains(ancestor))
        };
        let by_process =
            hooked.iter().filter(|(_, hook)| is_at_work(hook)).map(|(session, _)| session.clone());
        named.into_iter().chain(by_process).collect()
    }

    /// Whether a session that was active at a moment may still be at work: it has a connection, or its hooks reported
    /// something within [`DISCONNECT_GRACE`], to this process, which began at `began`.
    pub(super) fn is_at_work(
        &self,
        session: &SessionId,
        active_at: Timestamp,
        now: Timestamp,
        began: Timestamp,
    ) -> bool {
        let lately = now.checked_sub(DISCONNECT_GRACE).unwrap_or(Timestamp::MIN).max(began);
        lock(&self.agents).contains_key(session)
            || (active_at >= lately && lock(&self.hooked).contains_key(session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_at_work_while_the_server_of_its_agent_is_there() {
        let presence = Presence::default();
        let session = |name: &str| SessionId::parse(name).unwrap();
        let now = Timestamp::from_second(1_767_225_600).unwrap();
        let at_work = |now: Timestamp| -> Vec<String> {
            presence.at_work(now).iter().map(ToString::to_string).collect()
        };
        presence.hook_ran(&session("gemini"), &[7, 70, 1], now);
        presence.hook_ran(&session("no server"), &[8, 70, 1], now);
        assert!(at_work(now).is_empty());
        presence.nameless_joined(1, 7);
        presence.agent_joined(&session("claude"));
        assert_eq!(at_work(now), ["claude", "gemini"]);
        // One process may have gone on in another session.
        let later = now.checked_add(2 * DISCONNECT_GRACE).unwrap();
        assert_eq!(at_work(later), ["claude"]);
        presence.nameless_left(1);
        presence.nameless_left(1);
        assert!(presence.agent_left(&session("claude")));
        assert!(at_work(now).is_empty());
    }
}
