//! The words that two names share: `nr_queued` and `h_nr_running` share words with `nr_running`.

use super::similar::BareName;
use alloc::vec::Vec;

/// The length of the shortest words that are compared.
const SHORTEST_WORD: usize = 2;
/// The length of the shortest common prefix of words that differ later: `running` and `runnable`.
const SHORTEST_PREFIX: usize = 4;
/// The maximum number of names that contain a word. A word in more names is ignored, such as `sk` in the
/// members of `struct sock`.
const NAMES_WITH_WORD: usize = 8;
/// The minimum similarity, in percent.
const LEAST_PERCENT: usize = 20;

/// The words of a missing name.
#[derive(Debug)]
pub(super) struct WordPattern<'n> {
    words: Vec<&'n [u8]>,
}

impl<'n> WordPattern<'n> {
    /// Prepares a name. Returns `None` for a name that is too long for [`BareName`].
    pub(super) fn new(name: &'n [u8]) -> Option<Self> {
        Some(Self { words: BareName::new(name)?.words().collect() })
    }

    /// Returns the number of words, which is the number of steps for comparing a name.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the names that share words with this one, the most similar first.
    ///
    /// Words that more than [`NAMES_WITH_WORD`] of the names contain are ignored. The result has the value of
    /// each name.
    pub(super) fn find_similar<T: Copy>(&self, names: &[(BareName<'n>, T)]) -> Vec<T> {
        let is_rare = |word: &&&[u8]| {
            let having = names.iter().filter(|(name, _)| shared_letters(word, name) > 0);
            having.take(const { NAMES_WITH_WORD + 1 }).count() <= NAMES_WITH_WORD
        };
        let rare: Vec<_> = self.words.iter().filter(is_rare).copied().collect();
        let with_similarity =
            |(name, value): &(BareName<'n>, T)| Some((self.similarity(&rare, name)?, *value));
        let mut similar: Vec<_> = names.iter().filter_map(with_similarity).collect();
        similar.sort_by_key(|(percent, _)| core::cmp::Reverse(*percent));
        similar.into_iter().map(|(_, value)| value).collect()
    }

    /// Returns the percentage of letters that two names have in common, if it is at least [`LEAST_PERCENT`].
    fn similarity(&self, rare: &[&[u8]], name: &BareName<'_>) -> Option<usize> {
        let shared: usize = rare.iter().map(|word| shared_letters(word, name)).sum();
        if shared == 0 {
            return None;
        }
        // An equal first word counts as one more letter.
        let first_is_shared = name.words().next().is_some_and(|first| self.words.first() == Some(&first));
        let all: usize = self.words.iter().copied().chain(name.words()).map(<[u8]>::len).sum();
        let common: usize = [shared, usize::from(first_is_shared)].into_iter().sum();
        common.checked_mul(200)?.checked_div(all).filter(|percent| *percent >= LEAST_PERCENT)
    }
}

/// Returns the number of letters that a word shares with the most similar word of a name.
fn shared_letters(word: &[u8], name: &BareName<'_>) -> usize {
    let shared = |other: &[u8]| {
        let beginning = word.iter().zip(other).take_while(|(a, b)| a == b).count();
        let is_shared = if word == other { beginning >= SHORTEST_WORD } else { beginning >= SHORTEST_PREFIX };
        if is_shared { beginning } else { 0 }
    };
    name.words().map(shared).fold(0, usize::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar<'n>(wanted: &'n str, names: &[&'n str]) -> Vec<&'n str> {
        let names: Vec<_> =
            names.iter().map(|name| (BareName::new(name.as_bytes()).unwrap(), *name)).collect();
        WordPattern::new(wanted.as_bytes()).unwrap().find_similar(&names)
    }

    #[test]
    fn renamed_members_share_a_word_or_the_beginning_of_one() {
        let cfs_rq = ["load", "nr_queued", "h_nr_running", "h_nr_idle", "avg_load", "min_vruntime", "curr"];
        assert_eq!(similar("nr_running", &cfs_rq), ["h_nr_running", "nr_queued", "h_nr_idle"]);
        assert_eq!(similar("running", &["runnable_avg", "run", "a_running"]), ["a_running", "runnable_avg"]);
        assert!(similar("state", &["start", "s_t", ""]).is_empty());
    }

    #[test]
    fn words_that_many_names_have_do_not_count() {
        let names: Vec<_> = (0..=NAMES_WITH_WORD).map(|n| alloc::format!("sk_{n}")).collect();
        let names: Vec<_> = names.iter().map(|name| &**name).collect();
        assert!(similar("sk_state", &names).is_empty());
        assert_eq!(similar("sk_state", &names[..NAMES_WITH_WORD]).len(), NAMES_WITH_WORD);
    }
}
