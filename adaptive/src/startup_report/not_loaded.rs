//! Why programs are not part of an adaptive load, in a few words.

use super::{AlternativeReport, GroupReport, StartupReport, Status};
use core_relo::Escaped;

impl StartupReport {
    /// Returns in a few words why a program is not part of the load, for lists of programs. The reasons in
    /// full are those of its group or program. Returns `None` for programs of the load, and for those that
    /// the object or the settings leave out.
    ///
    /// The words have no control characters.
    pub fn why_not_loaded(&self, program: &str) -> Option<String> {
        let has_program =
            |alternative: &&AlternativeReport| alternative.programs.iter().any(|name| name == program);
        let in_groups = || {
            self.groups
                .iter()
                .flat_map(|group| group.alternatives.iter().filter(has_program).map(move |a| (group, a)))
        };
        if in_groups().any(|(_, alternative)| alternative.status == Status::Used) {
            return None;
        }
        let alternative = in_groups().next().and_then(|(group, alternative)| {
            let name = Escaped(&group.name);
            match alternative.status {
                Status::Rejected => {
                    let rejections = &alternative.rejections;
                    let own = rejections.iter().find(|rejection| rejection.name == program);
                    Some(match (own, rejections.first()) {
                        (Some(own), _) => format!("{}, see group {name}", own.stage.sentence()),
                        (None, Some(other)) => {
                            format!("left out with {}, see group {name}", Escaped(&other.name))
                        }
                        (None, None) => format!("does not work on this kernel, see group {name}"),
                    })
                }
                Status::NotNeeded => Some(format!("not needed, group {name}")),
                Status::Used | Status::NotSelected => None,
            }
        });
        alternative.or_else(|| {
            let report = self.programs.iter().find(|report| report.name == program)?;
            let is_left_out = report.status == Status::Rejected && report.rejection.is_some();
            is_left_out.then(|| format!("left out, see program {}", Escaped(program)))
        })
    }

    /// Returns the group of which no alternative works, so that the load failed.
    pub(super) fn failed_group(&self) -> Option<&GroupReport> {
        self.groups.iter().find(|group| group.chosen.is_none() && !group.is_optional)
    }
}
