//! The names of an access in the text of a source line.

use super::{register_macros::has_register_macro, word_search::find_words};
use crate::Name;
use alloc::vec::Vec;

/// The bytes of a line in which names are searched for.
const SEARCHED_BYTES: usize = 512;

/// The names before that of the member that are searched for.
const SEARCHED_NAMES: usize = 3;

/// What a source line has to contain to be that of an access.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessWords<'q> {
    /// The names of the access, the last one that of the member. Empty if the line is that of the instruction
    /// itself.
    pub(crate) names: Vec<Name<'q>>,
    /// What the access does with the last name.
    pub(crate) access: Access,
    /// Whether the member is a register, which has a macro of its own.
    pub(crate) is_register: bool,
}

/// What an access does with its last name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Access {
    /// It uses the member or the enumerator.
    #[default]
    Use,
    /// It asks whether the member exists.
    ExistenceCheck,
    /// The name is that of a type.
    Type,
}

/// The match of a line of C with the words of an access, from the worst to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameMatch {
    /// The line has no word that is the member's name.
    None,
    /// A word is the member's name. It may be that of a variable.
    Word,
    /// The same, and the line has all other names of the access.
    Words,
    /// The member's name is that of a member: after `.` or `->`, or a later argument, as in
    /// `BPF_CORE_READ(task, pid)`.
    Member,
    /// The same, and the line has all other names of the access; or a macro that hides them.
    Path,
}

impl NameMatch {
    /// Compares a line with the words of an access.
    pub(super) fn new(text: &[u8], words: &AccessWords<'_>) -> Self {
        let (text, _) = text.split_at(text.len().min(SEARCHED_BYTES));
        let Some((member, outer)) = words.names.split_last() else { return Self::None };
        if words.is_register && has_register_macro(text, member.as_bytes()) {
            return Self::Path;
        }
        let is_candidate = |start: &usize| {
            let before = text.get(..*start);
            words.access != Access::Use || before.is_some_and(|before| !ends_in_existence_check(before))
        };
        let mut positions = find_words(text, member.as_bytes()).filter(is_candidate).peekable();
        if positions.peek().is_none() {
            return Self::None;
        }
        let is_member = words.access == Access::Type
            || positions.any(|start| text.get(..start).is_some_and(precedes_member));
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

/// Returns whether a word after this text is in the argument of `bpf_core_field_exists()`, which reads no
/// member.
fn ends_in_existence_check(text: &[u8]) -> bool {
    const CHECK: &[u8] = b"bpf_core_field_exists(";
    let start = text.windows(CHECK.len()).rposition(|word| word == CHECK);
    let Some(argument) = start.and_then(|start| text.get(start..)) else { return false };
    let pieces = |byte: u8| argument.split(|other| *other == byte).count();
    pieces(b'(') > pieces(b')')
}

/// Returns whether a word after this text is the name of a member rather than that of a variable.
fn precedes_member(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    text.ends_with(b".") || text.ends_with(b"->") || text.ends_with(b",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(names: &str) -> AccessWords<'_> {
        let names = names.split('.').map(|name| Name::new(name.as_bytes())).collect();
        AccessWords { names, ..AccessWords::default() }
    }

    fn matched(text: &str, names: &str) -> NameMatch {
        NameMatch::new(text.as_bytes(), &words(names))
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
    fn a_check_whether_a_member_exists_is_no_read_of_it() {
        let check =
            |text: &str, access| NameMatch::new(text.as_bytes(), &AccessWords { access, ..words("pid") });
        let line = "if (bpf_core_field_exists(((struct s *)t)->pid))";
        assert_eq!(check(line, Access::Use), NameMatch::None);
        assert_eq!(check(line, Access::ExistenceCheck), NameMatch::Path);
        let both = "pid = bpf_core_field_exists(t->pid) ? t->pid : 0;";
        assert_eq!(
            [Access::Use, Access::ExistenceCheck].map(|access| check(both, access)),
            [NameMatch::Path; 2]
        );
    }

    #[test]
    fn the_name_of_a_type_is_a_word() {
        let line = "if (bpf_core_type_exists(struct pid))";
        let ty = AccessWords { access: Access::Type, ..words("pid") };
        assert_eq!(NameMatch::new(line.as_bytes(), &ty), NameMatch::Path);
        assert_eq!(matched(line, "pid"), NameMatch::Words);
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

    #[test]
    fn the_macro_of_a_register_counts_as_its_name() {
        let register = AccessWords { is_register: true, ..words("di") };
        let text = "return PT_REGS_PARM1_CORE(ctx);";
        assert_eq!(NameMatch::new(text.as_bytes(), &register), NameMatch::Path);
        assert_eq!(matched(text, "di"), NameMatch::None, "a member of another struct");
    }
}
