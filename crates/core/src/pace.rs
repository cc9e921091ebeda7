//! How background work paces itself: when to retry, when to give up, what may still be spent, when to give way. Pure:
//! the caller passes in time and chance.

use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Attempts after which a job becomes a dead letter; a person can revive it.
pub const ATTEMPTS_MAX: u32 = 10;
/// The wait after the first failed attempt; it doubles with each.
const BACKOFF_FIRST: Duration = Duration::from_secs(10);
/// The longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(60 * 60);
/// Consecutive failures after which the breaker opens.
const BREAKER_FAILURES: u32 = 3;
/// How long it is open at first; the time doubles while the provider does not recover.
const BREAKER_FIRST: Duration = Duration::from_secs(15);
/// The longest time that the breaker is open.
const BREAKER_MAX: Duration = Duration::from_secs(15 * 60);
/// How much longer than the shortest of the last pauses a pause must be before background work goes on.
pub const QUIET: Duration = Duration::from_millis(40);
/// How long nobody must have called before background work may take longer steps.
pub const CALM: Duration = Duration::from_secs(2);
/// The longest that calls hold background work off before each of its steps.
pub const YIELD_MAX: Duration = Duration::from_secs(1);

/// A wait that begins at `first` and has doubled `times` times, up to `longest`.
pub fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    first.saturating_mul(1_u32 << times.min(20)).min(longest)
}

/// The wait before attempt `attempts` + 1. `chance` (0 to 1) adds up to half of it, so that jobs that failed
/// together do not return together.
pub fn backoff(attempts: u32, chance: f64) -> Duration {
    let wait = doubled(BACKOFF_FIRST, attempts.saturating_sub(1), BACKOFF_MAX);
    wait.mul_f64(1.0 + chance.clamp(0.0, 1.0) / 2.0)
}

/// A circuit breaker for a provider. Closed, it lets every call through; open, none; after a while it lets one call
/// through, whose outcome decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    /// How often it opened since the last success.
    opened: u32,
    open_until: Option<Duration>,
}

impl Breaker {
    /// How long to wait before the next call; `now` counts from any fixed moment.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        self.open_until?.checked_sub(now).filter(|wait| !wait.is_zero())
    }

    /// Whether the next call is the one that tests whether the provider has recovered.
    pub fn is_trying(&self) -> bool {
        self.open_until.is_some()
    }

    /// Records a call that was answered.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Records a call that failed, and the wait that the provider asked for.
    pub fn fail(&mut self, now: Duration, asked: Option<Duration>) {
        self.failures += 1;
        let opens = self.is_trying() || self.failures >= BREAKER_FAILURES;
        let wait = opens.then(|| {
            self.opened += 1;
            doubled(BREAKER_FIRST, self.opened - 1, BREAKER_MAX)
        });
        let asked = asked.map(|asked| asked.min(BREAKER_MAX));
        if let Some(wait) = wait.max(asked) {
            self.open_until = Some(now + wait);
        }
    }
}

/// What may be spent per day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tokens; `None` without a limit.
    pub tokens: Option<NonZeroU64>,
    /// Requests; `None` without a limit.
    pub requests: Option<NonZeroU64>,
}

/// What was spent on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens, as the provider counts them.
    pub tokens: u64,
    /// Requests, including failed ones.
    pub requests: u64,
}

impl Budget {
    /// Reads the settings, in which 0 means no limit.
    pub fn of_settings(tokens: u64, requests: u64) -> Self {
        Self { tokens: NonZeroU64::new(tokens), requests: NonZeroU64::new(requests) }
    }

    /// Whether one more request of about `tokens` fits.
    pub fn allows(&self, spent: Spent, tokens: u64) -> bool {
        let fits = |limit: Option<NonZeroU64>, total: u64| limit.is_none_or(|limit| total <= limit.get());
        fits(self.tokens, spent.tokens.saturating_add(tokens))
            && fits(self.requests, spent.requests.saturating_add(1))
    }

    /// How many tokens one more request may cost: as many as are wanted, or what is left of the day, if that is enough. `None`
    /// if it is not.
    pub fn grants(&self, spent: Spent, wanted: RangeInclusive<u64>) -> Option<u64> {
        let left = self.tokens.map_or(u64::MAX, |limit| limit.get().saturating_sub(spent.tokens));
        let granted = left.min(*wanted.end());
        (granted >= *wanted.start() && self.allows(spent, granted)).then_some(granted)
    }
}

/// A cautious estimate of a text's tokens, to check the budget before a request.
pub fn tokens_of(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}

/// How long background work must still give way before a step that takes `step`. `quiet` is the time since the last call
/// ended, `None` while one is under way; `pause` is the shortest of the last pauses between calls; `held` is how long the work
/// has given way already.
///
/// The step begins if it will end before the next call is expected, or if none is expected any more.
pub fn give_way(
    quiet: Option<Duration>,
    pause: Duration,
    step: Duration,
    held: Duration,
) -> Option<Duration> {
    let left = YIELD_MAX.checked_sub(held).filter(|left| !left.is_zero())?;
    let Some(quiet) = quiet else { return Some(left) };
    if quiet.saturating_add(step) <= pause {
        return None;
    }
    let wait = pause.saturating_add(QUIET).saturating_sub(quiet);
    (!wait.is_zero()).then(|| left.min(wait))
}

/// The value below which `per_cent` of the values lie, by the nearest rank; `None` without values.
pub fn percentile(values: &mut [Duration], per_cent: usize) -> Option<Duration> {
    values.sort_unstable();
    let rank = (values.len() * per_cent).div_ceil(100);
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_double_up_to_a_bound() {
        for (attempts, seconds) in [(0, 10), (1, 10), (2, 20), (5, 160), (9, 2_560), (10, 3_600), (90, 3_600)]
        {
            assert_eq!(backoff(attempts, 0.0), Duration::from_secs(seconds), "{attempts}");
        }
        assert_eq!(backoff(1, 1.0), Duration::from_secs(15));
        assert_eq!(backoff(1, f64::NAN.max(0.0)), Duration::from_secs(10));
    }

    #[test]
    fn the_breaker_stays_open_longer_with_each_failure() {
        let mut breaker = Breaker::default();
        let mut now = Duration::ZERO;
        breaker.fail(now, None);
        breaker.fail(now, None);
        assert_eq!(breaker.wait(now), None, "two failures are no outage");
        breaker.fail(now, None);
        assert_eq!(breaker.wait(now), Some(15 * SECOND));
        assert_eq!(breaker.wait(now + 16 * SECOND), None, "then one call tries");
        assert!(breaker.is_trying());
        let mut calls = 0;
        while now < Duration::from_secs(24 * 3_600) {
            now += breaker.wait(now).unwrap_or_default();
            breaker.fail(now, None);
            calls += 1;
        }
        assert!(calls < 110, "{calls} calls in a day of outage");
        breaker.succeed();
        assert_eq!(breaker, Breaker::default());
    }

    #[test]
    fn a_provider_that_asks_for_a_wait_gets_it_within_a_bound() {
        let mut breaker = Breaker::default();
        breaker.fail(SECOND, Some(20 * SECOND));
        assert_eq!(breaker.wait(SECOND), Some(20 * SECOND));
        breaker.fail(SECOND, Some(SECOND * 1_000_000));
        assert_eq!(breaker.wait(SECOND), Some(BREAKER_MAX));
    }

    #[test]
    fn a_budget_holds_to_the_last_request() {
        let budget = Budget::of_settings(100, 2);
        assert!(budget.allows(Spent::default(), 100));
        assert!(!budget.allows(Spent::default(), 101));
        assert!(!budget.allows(Spent { tokens: 1, requests: 0 }, 100));
        assert!(!budget.allows(Spent { tokens: 0, requests: 2 }, 1));
        assert!(Budget::default().allows(Spent { tokens: u64::MAX, requests: u64::MAX }, u64::MAX));
        assert_eq!(budget.grants(Spent::default(), 10..=50), Some(50));
        assert_eq!(budget.grants(Spent { tokens: 70, requests: 0 }, 10..=50), Some(30), "what is left");
        assert_eq!(budget.grants(Spent { tokens: 91, requests: 0 }, 10..=50), None, "too little is left");
        assert_eq!(budget.grants(Spent { tokens: 0, requests: 2 }, 10..=50), None);
        assert_eq!(Budget::default().grants(Spent { tokens: u64::MAX, requests: 9 }, 10..=50), Some(50));
    }

    #[test]
    fn background_work_gives_way_for_a_bounded_time() {
        let (none, step) = (Duration::ZERO, Duration::from_millis(10));
        let wait = |quiet, held| give_way(quiet, none, step, held);
        assert_eq!(wait(Some(Duration::MAX), none), None);
        assert_eq!(wait(Some(none), none), Some(QUIET));
        assert_eq!(wait(Some(QUIET / 2), none), Some(QUIET / 2));
        assert_eq!(wait(Some(none), YIELD_MAX.saturating_sub(step)), Some(step));
        assert_eq!(wait(None, none), Some(YIELD_MAX));
        assert_eq!(wait(None, YIELD_MAX), None);
    }

    #[test]
    fn a_short_step_goes_on_between_regular_calls() {
        let (step, last) = (QUIET, 4 * QUIET);
        let pause = last + step;
        let wait = |quiet| give_way(Some(quiet), pause, step, Duration::ZERO);
        assert_eq!((wait(Duration::ZERO), wait(last)), (None, None));
        // The next call may come before the step ends.
        assert_eq!(wait(last + step / 2), Some(step / 2 + QUIET));
        assert_eq!(wait(pause), Some(QUIET));
        assert_eq!(wait(pause + QUIET), None, "it has not come");
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let mut values: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        for (per_cent, want) in [(50, 50), (99, 99), (100, 100)] {
            assert_eq!(percentile(&mut values, per_cent), Some(Duration::from_millis(want)));
        }
        assert_eq!(percentile(&mut [SECOND], 1), Some(SECOND));
        assert_eq!(percentile(&mut [], 50), None);
    }
}
