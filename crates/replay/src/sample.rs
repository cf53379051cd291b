//! Chooses the calls that a judge scores. The choice is deterministic, spread over the sessions,
//! and the same for every policy, so that policies are compared on the same answers.

use std::collections::BTreeSet;

/// A model call that could be scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampledCall {
    /// The message that answered the call, numbered as in the file.
    pub call: usize,
    /// Tokens of the whole conversation before it, without system prompt and tool definitions.
    pub tokens: usize,
}

/// The chosen calls: window, session and call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample(BTreeSet<(usize, usize, usize)>);

impl Sample {
    /// Chooses about `count` calls per window from the candidates of each session. Only calls whose
    /// conversation is larger than the window are chosen, because until then most policies send
    /// everything. If there are none, any call may be chosen.
    #[must_use]
    pub fn new(sessions: &[Vec<SampledCall>], windows: &[usize], count: usize) -> Self {
        let mut sample = Self::default();
        for &window in windows {
            let calls = |min: usize| -> Vec<(usize, Vec<usize>)> {
                let calls = sessions.iter().enumerate().map(|(session, candidates)| {
                    let large = candidates.iter().filter(|candidate| candidate.tokens >= min);
                    (session, large.map(|candidate| candidate.call).collect::<Vec<_>>())
                });
                calls.filter(|(_, calls)| !calls.is_empty()).collect()
            };
            let large = calls(window + 1);
            let chosen = choose(&if large.is_empty() { calls(0) } else { large }, count);
            sample.0.extend(chosen.into_iter().map(|(session, call)| (window, session, call)));
        }
        sample
    }

    /// Returns whether a call was chosen.
    #[must_use]
    pub fn has(&self, window: usize, session: usize, call: usize) -> bool {
        self.0.contains(&(window, session, call))
    }

    /// Returns the number of chosen calls in one window.
    #[must_use]
    pub fn count(&self, window: usize) -> usize {
        self.0.iter().filter(|(known, ..)| *known == window).count()
    }

    /// Returns the number of chosen calls in all windows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no call was chosen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn choose(sessions: &[(usize, Vec<usize>)], count: usize) -> Vec<(usize, usize)> {
    let taken: Vec<&(usize, Vec<usize>)> = spread(sessions, count).collect();
    let mut shares = vec![0_usize; taken.len()];
    let mut left = count;
    // Every session gets one call, then every session that has more gets a second one, and so on.
    while left > 0 {
        let before = left;
        for (share, (_, calls)) in shares.iter_mut().zip(&taken) {
            if left > 0 && *share < calls.len() {
                *share += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    let chosen = taken.iter().zip(shares);
    chosen
        .flat_map(|((session, calls), share)| {
            spread(calls, share).map(move |&call| (*session, call))
        })
        .collect()
}

/// Returns `count` items at even distances, or all of them if they are fewer.
fn spread<T>(items: &[T], count: usize) -> impl Iterator<Item = &T> {
    let count = count.min(items.len());
    (0..count).filter_map(move |at| items.get((2 * at + 1) * items.len() / (2 * count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(calls: usize) -> Vec<SampledCall> {
        (0..calls).map(|call| SampledCall { call, tokens: call * 1_000 }).collect()
    }

    fn chosen(sample: &Sample) -> Vec<(usize, usize)> {
        sample.0.iter().map(|&(_, session, call)| (session, call)).collect()
    }

    #[test]
    fn calls_are_spread_over_sessions_and_inside_them() {
        let sessions = [session(100), session(2), session(0), session(100)];
        let sample = Sample::new(&sessions, &[0], 9);
        // The first call of a session is not larger than a window of 0.
        assert_eq!(
            chosen(&sample),
            [(0, 13), (0, 38), (0, 62), (0, 87), (1, 1), (3, 13), (3, 38), (3, 62), (3, 87)]
        );
        assert_eq!(sample, Sample::new(&sessions, &[0], 9), "the choice is deterministic");
        let few = Sample::new(&sessions, &[0], 1);
        assert_eq!(chosen(&few), [(1, 1)], "with many sessions, some are left out");
    }

    #[test]
    fn calls_that_fit_into_the_window_are_chosen_only_if_all_do() {
        let sessions = [session(10), session(4)];
        assert_eq!(chosen(&Sample::new(&sessions, &[7_000], 50)), [(0, 8), (0, 9)]);
        assert_eq!(Sample::new(&sessions, &[50_000], 50).len(), 14);
        assert!(Sample::new(&[], &[8_000], 50).is_empty());
    }
}
