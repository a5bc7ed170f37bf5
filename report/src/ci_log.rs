//! Commands in the logs of CI jobs, which the runner executes: `::set-output name=a::b` and `##[add-path]`
//! (GitHub), `##vso[task.setvariable]` (Azure Pipelines), `##teamcity[…]`. Text from input must not contain
//! one.
//!
//! GitLab's marks of sections contain control characters, which are never printed.

/// Returns the positions of the characters `:` and `#` without which a line has no command, in order.
///
/// Runners look for `::` after spaces at the start of a line, and for `##[` and `##word[` anywhere.
pub fn command_positions(line: &str) -> Vec<usize> {
    let mut positions = Vec::new();
    let text = line.trim_start();
    if text.starts_with("::") {
        positions.push(line.len() - text.len());
    }
    for (at, _) in line.match_indices('#') {
        let name = line.get(at..).and_then(|rest| rest.strip_prefix("##"));
        let is_name_char = |c: char| c.is_ascii_alphanumeric();
        if name.is_some_and(|name| name.trim_start_matches(is_name_char).starts_with('[')) {
            positions.push(at);
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_runners_are_found() {
        for (line, expected) in [
            ("::add-path::/tmp", &[0][..]),
            (" \t ::a::", &[3]),
            ("a ::b::", &[]),
            ("a ##[add-path]b", &[2]),
            ("x ##vso[task.setvariable]", &[2]),
            ("###[a] ##teamcity[b]", &[1, 7]),
            ("## heading [x] #[derive]", &[]),
            (":", &[]),
            ("", &[]),
        ] {
            assert_eq!(command_positions(line), expected, "{line}");
        }
    }
}
