//! Which sessions have an agent at work: the connections of agents' servers, the processes of hooks, and since when a
//! session has no connection.

use std::{collections::HashMap, sync::Mutex};

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
    /// The ancestors of each session's hooks. One of them is also an ancestor of the agent's server.
    hooked: Mutex<HashMap<SessionId, Vec<u32>>>,
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
    pub(super) fn hook_ran(&self, session: &SessionId, ancestors: &[u32]) {
        let mut hooked = lock(&self.hooked);
        if hooked.len() >= HOOKED_MAX && !hooked.contains_key(session) {
            hooked.clear();
        }
        hooked.insert(session.clone(), ancestors.to_vec());
    }

    /// Removes and returns the sessions whose hooks a process started.
    pub(super) fn take_sessions_of_hooks(&self, ancestor: u32) -> Vec<SessionId> {
        let mut hooked = lock(&self.hooked);
        hooked.extract_if(|_, ancestors| ancestors.contains(&ancestor)).map(|(session, _)| session).collect()
    }

    /// Removes the ancestors of a session's hooks, because its agent is gone.
    pub(super) fn forget_hooks(&self, session: &SessionId) {
        lock(&self.hooked).remove(session);
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
