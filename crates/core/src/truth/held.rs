//! What the store held at a moment, derived from when each text of a memory was written and when the memory was
//! deleted and restored.

use crate::domain::Timestamp;

/// A half-open period: includes its first moment, excludes its end. Without an end it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its first moment.
    pub from: Timestamp,
    /// The first moment after it.
    pub to: Option<Timestamp>,
}

impl Period {
    /// Whether it contains a moment.
    pub fn has(&self, at: Timestamp) -> bool {
        self.from <= at && self.to.is_none_or(|to| at < to)
    }
}

/// The periods in which a memory was deleted, from its deletions and restorations in the log, in order (`true`:
/// deleted, `false`: restored), and from its row.
pub fn gaps(log: &[(Timestamp, bool)], deleted_at: Option<Timestamp>) -> Vec<Period> {
    let mut gaps = Vec::new();
    let mut open = None;
    for (at, is_deleted) in log {
        if *is_deleted {
            open = Some(*at);
        } else if let Some(from) = open.take() {
            gaps.push(Period { from, to: Some(*at) });
        }
    }
    gaps.extend(deleted_at.map(|from| Period { from, to: None }));
    gaps
}

/// Which texts of a memory the store held, and when. `written` has the time of each text, in order; a text holds
/// until the next one, except in the gaps. One text may hold in several periods.
pub fn held_periods(written: &[Timestamp], gaps: &[Period]) -> Vec<(usize, Period)> {
    let mut held_periods = Vec::new();
    for (text, from) in written.iter().enumerate() {
        let end = written.get(text + 1).copied();
        let mut from = *from;
        for gap in gaps {
            let is_before = gap.to.is_some_and(|to| to <= from);
            if is_before || end.is_some_and(|end| end <= gap.from) {
                continue;
            }
            if from < gap.from {
                held_periods.push((text, Period { from, to: Some(gap.from) }));
            }
            match gap.to {
                Some(to) => from = to,
                None => return held_periods,
            }
        }
        if end.is_none_or(|end| from < end) {
            held_periods.push((text, Period { from, to: end }));
        }
    }
    held_periods
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn period(from: i64, to: Option<i64>) -> Period {
        Period { from: at(from), to: to.map(at) }
    }

    #[test]
    fn each_text_holds_until_the_next() {
        let written = [at(10), at(20)];
        assert_eq!(held_periods(&written, &[]), [(0, period(10, Some(20))), (1, period(20, None))]);
        assert!(held_periods(&[], &[period(1, None)]).is_empty());
    }

    #[test]
    fn while_it_is_deleted_none_holds() {
        let written = [at(10), at(20)];
        let gaps = gaps(&[(at(12), true), (at(14), false), (at(30), true)], Some(at(30)));
        assert_eq!(gaps, [period(12, Some(14)), period(30, None)]);
        assert_eq!(
            held_periods(&written, &gaps),
            [(0, period(10, Some(12))), (0, period(14, Some(20))), (1, period(20, Some(30)))]
        );
    }

    /// When texts were written, and the periods in which they were deleted.
    type Case = (&'static [i64], &'static [(i64, Option<i64>)]);

    #[test]
    fn held_periods_agree_with_a_check_of_every_moment() {
        // Restored at the moment of a change, deleted at the first moment, twice in one text.
        let cases: [Case; 4] = [
            (&[1, 5], &[(3, Some(5))]),
            (&[1, 5], &[(1, Some(2)), (3, Some(4)), (6, None)]),
            (&[1, 5, 6], &[(5, Some(6))]),
            (&[4], &[(0, Some(2)), (9, None)]),
        ];
        for (written, gaps) in cases {
            let written: Vec<Timestamp> = written.iter().map(|second| at(*second)).collect();
            let gaps: Vec<Period> = gaps.iter().map(|(from, to)| period(*from, *to)).collect();
            let held_periods = held_periods(&written, &gaps);
            for second in 0..12 {
                let moment = at(second);
                let last = written.iter().rposition(|from| *from <= moment);
                let wanted = last.filter(|_| !gaps.iter().any(|gap| gap.has(moment)));
                let found: Vec<usize> = held_periods
                    .iter()
                    .filter(|(_, period)| period.has(moment))
                    .map(|(text, _)| *text)
                    .collect();
                assert_eq!(found, wanted.into_iter().collect::<Vec<_>>(), "{second} in {held_periods:?}");
            }
        }
    }
}
