//! Limits the rate of answered requests with a token bucket, so that a burst passes and a flood does not (J. S.
//! Turner, "New directions in communications", IEEE Communications Magazine 24(10), 1986).

use std::{sync::Mutex, time::Instant};

use cerebro_core::sync::lock;

/// Largest burst: the requests of this many seconds.
const BURST_SECONDS: f64 = 4.0;

/// Admits `per_second` requests on average, and bursts of four times as many.
#[derive(Debug)]
pub(super) struct Rate {
    begun: Instant,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    per_second: f64,
    left: f64,
    /// When `left` was computed, in seconds since the start.
    at: f64,
}

impl Rate {
    pub(super) fn new(per_second: u32) -> Self {
        let bucket = Bucket::new(f64::from(per_second));
        Self { begun: Instant::now(), bucket: Mutex::new(bucket) }
    }

    /// Whether one more request is answered now.
    pub(super) fn admits(&self) -> bool {
        let now = self.begun.elapsed().as_secs_f64();
        lock(&self.bucket).take(now)
    }
}

impl Bucket {
    fn new(per_second: f64) -> Self {
        Self { per_second, left: per_second * BURST_SECONDS, at: 0.0 }
    }

    fn take(&mut self, now: f64) -> bool {
        let grown = self.left + (now - self.at).max(0.0) * self.per_second;
        self.left = grown.min(self.per_second * BURST_SECONDS);
        self.at = now;
        let admits = self.left >= 1.0;
        if admits {
            self.left -= 1.0;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_a_flood_is_slowed() {
        let mut bucket = Bucket::new(2.0);
        let passed = (0..20).filter(|_| bucket.take(0.0)).count();
        assert_eq!(passed, 8);
        assert!(!bucket.take(0.4));
        assert!(bucket.take(0.5) && !bucket.take(0.5));
        // A long pause allows no more than one burst.
        let passed = (0..20).filter(|_| bucket.take(1_000.0)).count();
        assert_eq!(passed, 8);
        // A clock that goes back admits nothing.
        assert!(!bucket.take(10.0));
    }
}
