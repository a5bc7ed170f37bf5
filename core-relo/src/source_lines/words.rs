//! The names of an access in the text of a source line.

use crate::name::Name;

/// The bytes of a line in which names are searched for.
const SEARCHED_BYTES: usize = 512;

/// The names before that of the member that are searched for.
const SEARCHED_NAMES: usize = 3;

/// The match of a line of C with the names of an access, from the worst to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameMatch {
    /// The line has no word that is the member's name.
    None,
    /// A word is the member's name. It may be that of a variable.
    Word,
    /// The same, and the line has all other names of the access.
    Words,
    /// The member's name is that of a member: after `.` or `->`, or a later argument, as in `BPF_CORE_READ(task, pid)`.
    Member,
    /// The same, and the line has all other names of the access.
    Path,
}

impl NameMatch {
    /// Compares a line with the names of an access, the last one that of the member.
    pub(super) fn new(text: &[u8], names: &[Name<'_>]) -> Self {
        let (text, _) = text.split_at(text.len().min(SEARCHED_BYTES));
        let Some((member, outer)) = names.split_last() else { return Self::None };
        let mut words = find_words(text, member.as_bytes()).peekable();
        if words.peek().is_none() {
            return Self::None;
        }
        let is_member = words.any(|start| text.get(..start).is_some_and(precedes_member));
        let is_path = outer
            .iter()
            .rev()
            .take(SEARCHED_NAMES)
            .all(|name| find_words(text, name.as_bytes()).next().is_some());
        match (is_member, is_path) {
            (false, false) => Self::Word,
            (false, true) => Self::Words,
            (true, false) => Self::Member,
            (true, true) => Self::Path,
        }
    }
}

/// Returns the positions at which a text has a name as a whole word.
fn find_words<'t>(text: &'t [u8], name: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let is_word = move |start: &usize| {
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        let after = start.checked_add(name.len()).and_then(|at| text.get(at));
        !is_part(before) && !is_part(after)
    };
    let first = name.first();
    let starts = (0usize..).zip(text).filter(move |(_, byte)| Some(*byte) == first).map(|(start, _)| start);
    let is_name = move |start: &usize| text.get(*start..).is_some_and(|rest| rest.starts_with(name));
    starts.filter(is_name).filter(is_word)
}

/// Returns whether a word after this text is the name of a member rather than that of a variable.
fn precedes_member(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    text.ends_with(b".") || text.ends_with(b"->") || text.ends_with(b",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn matched(text: &str, names: &str) -> NameMatch {
        let names: Vec<_> = names.split('.').map(|name| Name::new(name.as_bytes())).collect();
        NameMatch::new(text.as_bytes(), &names)
    }

    #[test]
    fn a_member_is_told_from_a_variable_of_its_name() {
        for member in ["x = t->pid;", "x = t.pid;", "x = BPF_CORE_READ(t, pid);", "f(pid, t -> pid)"] {
            assert_eq!(matched(member, "pid"), NameMatch::Path, "{member}");
        }
        for word in ["if (targ_pid && targ_pid != pid)", "f(&map, &pid)", "pid = g(t);", "struct pid *p;"] {
            assert_eq!(matched(word, "pid"), NameMatch::Words, "{word}");
        }
        for other in ["x = t->tgid_pid;", "x = t->pid_ns;", "", "READ(t,"] {
            assert_eq!(matched(other, "pid"), NameMatch::None, "{other}");
        }
    }

    #[test]
    fn the_names_before_the_member_count_less_than_the_member() {
        assert_eq!(matched("x = t->src.addr;", "src.addr"), NameMatch::Path);
        assert_eq!(matched("x = t->dst.addr;", "src.addr"), NameMatch::Member);
        assert_eq!(matched("addr = src + 1;", "src.addr"), NameMatch::Words);
        assert_eq!(matched("addr = t->src;", "dst.addr"), NameMatch::Word);
        assert_eq!(matched("x = t->src;", "src.addr"), NameMatch::None);
    }

    /// Every name takes a search of the line, and a hostile access has many.
    #[test]
    fn the_last_names_count() {
        assert_eq!(matched("a = b + c->d;", "gone.a.b.c.d"), NameMatch::Path);
        assert_eq!(matched("a = b + c->d;", "a.gone.b.c.d"), NameMatch::Member);
    }

    #[test]
    fn a_long_line_is_searched_up_to_the_limit() {
        let mut line = "x".repeat(SEARCHED_BYTES - 5);
        line.push_str("->pid ->gid");
        assert_eq!([matched(&line, "pid"), matched(&line, "gid")], [NameMatch::Path, NameMatch::None]);
    }
}
