//! The confusion matrix of predictions and real loads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::classify::Cause;
use super::model::{Prediction, ProgramKey, Reality};

/// The numbers of programs by prediction and by the outcome of the real load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The counts, by the prediction's label and the cause of the refusal; `None` for loaded programs.
    counts: BTreeMap<(String, Option<Cause>), usize>,
    /// Programs without a prediction or without a real outcome, with the reason.
    pub unjudged: Vec<String>,
    /// `loads`, but the kernel refuses the program for a cause that the verdict must foresee.
    pub wrong_loads: Vec<String>,
    /// `refused` or `needs_input`, but the program loads.
    pub false_refusals: Vec<String>,
    /// `loads`, but the kernel refuses the program for a cause that no verdict foresees: the verifier,
    /// privileges, memory.
    pub other_refusals: Vec<String>,
    /// Real refusals of a foreseeable cause: all, and those that the verdict foresees.
    refusals: usize,
    foreseen: usize,
    unknown: usize,
    judged: usize,
}

impl Matrix {
    /// Compares the predictions for a kernel with the real loads there.
    pub fn new(
        kernel: &str,
        predictions: &BTreeMap<ProgramKey, Prediction>,
        realities: &BTreeMap<ProgramKey, Reality>,
    ) -> Self {
        let mut matrix = Self::default();
        for (key, reality) in realities {
            let program = format!("{kernel}: {}: {}", key.0, key.1);
            match predictions.get(key) {
                Some(prediction) => matrix.add(&program, prediction, reality),
                None => matrix.unjudged.push(format!("{program}: no prediction")),
            }
        }
        let missing = predictions.keys().filter(|key| !realities.contains_key(*key));
        matrix
            .unjudged
            .extend(missing.map(|(object, program)| format!("{kernel}: {object}: {program}: not loaded")));
        matrix
    }

    /// Adds a program.
    fn add(&mut self, program: &str, prediction: &Prediction, reality: &Reality) {
        let label = prediction.label();
        let reason =
            if prediction.text.is_empty() { String::new() } else { format!(": {}", prediction.text) };
        let cause = match reality {
            Reality::Loaded => None,
            Reality::Refused { cause, .. } => Some(*cause),
            Reality::Unknown(why) => return self.unjudged.push(format!("{program}: {why}")),
        };
        let is_refused = matches!(prediction.verdict.as_str(), "refused" | "needs_input");
        match reality {
            Reality::Loaded if is_refused => {
                self.false_refusals.push(format!("{program}: {label}{reason}; the kernel loads it"));
            }
            Reality::Refused { cause, message } if prediction.verdict == "loads" => {
                let list =
                    if cause.is_foreseeable() { &mut self.wrong_loads } else { &mut self.other_refusals };
                list.push(format!("{program}: loads; the kernel refuses it ({cause}): {message}"));
            }
            _ => {}
        }
        if cause.is_some_and(Cause::is_foreseeable) {
            self.refusals += 1;
            self.foreseen += usize::from(is_refused);
        }
        self.judged += 1;
        self.unknown += usize::from(prediction.verdict == "unknown");
        *self.counts.entry((label, cause)).or_default() += 1;
    }

    /// Adds the programs of another kernel.
    pub fn merge(&mut self, other: Self) {
        for (cell, count) in other.counts {
            *self.counts.entry(cell).or_default() += count;
        }
        self.unjudged.extend(other.unjudged);
        self.wrong_loads.extend(other.wrong_loads);
        self.false_refusals.extend(other.false_refusals);
        self.other_refusals.extend(other.other_refusals);
        self.refusals += other.refusals;
        self.foreseen += other.foreseen;
        self.unknown += other.unknown;
        self.judged += other.judged;
    }

    /// Returns the table: a row for each prediction, a column for each outcome.
    pub fn table(&self) -> String {
        let outcomes: Vec<Option<Cause>> = [None]
            .into_iter()
            .chain(Cause::ALL.into_iter().map(Some))
            .filter(|cause| cause.is_none() || self.counts.keys().any(|(_, found)| found == cause))
            .collect();
        let mut labels: Vec<&String> = self.counts.keys().map(|(label, _)| label).collect();
        labels.dedup();
        let width = labels.iter().map(|label| label.len()).max().unwrap_or_default().max("predicted".len());
        let mut text = format!("{:width$}", "predicted");
        for outcome in &outcomes {
            let _ = write!(text, "  {}", column_name(*outcome));
        }
        for label in labels {
            let _ = write!(text, "\n{label:width$}");
            for outcome in &outcomes {
                let count = self.counts.get(&(label.clone(), *outcome)).copied().unwrap_or_default();
                let shown = if count == 0 { "·".to_owned() } else { count.to_string() };
                let _ = write!(text, "  {shown:>0$}", column_name(*outcome).len());
            }
        }
        text
    }

    /// Returns the counts by which verdicts are judged, in one line.
    pub fn summary(&self) -> String {
        format!(
            "{} programs: {} wrong `loads`, {} false refusals, {} of {} refusals foreseen ({}), {} unknown ({}), {} refused for other \
             reasons, {} not judged",
            self.judged,
            self.wrong_loads.len(),
            self.false_refusals.len(),
            self.foreseen,
            self.refusals,
            percent(self.foreseen, self.refusals),
            self.unknown,
            percent(self.unknown, self.judged),
            self.other_refusals.len(),
            self.unjudged.len(),
        )
    }
}

fn column_name(outcome: Option<Cause>) -> String {
    outcome.map_or_else(|| "loaded".to_owned(), |cause| cause.to_string())
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(verdict: &str, kind: Option<&str>) -> Prediction {
        let kinds = kind.into_iter().map(str::to_owned).collect();
        Prediction { verdict: verdict.to_owned(), kinds, text: String::new() }
    }

    fn refused(cause: Cause) -> Reality {
        Reality::Refused { cause, message: "no".to_owned() }
    }

    fn matrix(programs: &[(&str, Prediction, Reality)]) -> Matrix {
        let key = |name: &str| ("a.o".to_owned(), name.to_owned());
        let predictions =
            programs.iter().map(|(name, prediction, _)| (key(name), prediction.clone())).collect();
        let realities = programs.iter().map(|(name, _, reality)| (key(name), reality.clone())).collect();
        Matrix::new("6.1", &predictions, &realities)
    }

    #[test]
    fn only_refusals_of_foreseeable_causes_are_wrong_loads() {
        let found = matrix(&[
            ("good", prediction("loads", None), Reality::Loaded),
            ("wrong", prediction("loads", None), refused(Cause::Helper)),
            ("complex", prediction("loads", None), refused(Cause::Verifier)),
            ("foreseen", prediction("refused", Some("kfunc")), refused(Cause::Kfunc)),
            ("false", prediction("refused", Some("map_type")), Reality::Loaded),
            ("input", prediction("needs_input", Some("map_size")), refused(Cause::Map)),
            ("open", prediction("unknown", Some("kfunc")), refused(Cause::Kfunc)),
        ]);
        assert_eq!(found.wrong_loads, ["6.1: a.o: wrong: loads; the kernel refuses it (helper): no"]);
        assert_eq!(found.other_refusals.len(), 1);
        assert_eq!(found.false_refusals, ["6.1: a.o: false: refused map_type; the kernel loads it"]);
        assert_eq!((found.foreseen, found.refusals, found.unknown, found.judged), (2, 4, 1, 7));
        assert!(found.summary().contains("2 of 4 refusals foreseen (50.0 %), 1 unknown (14.3 %)"));
    }

    #[test]
    fn programs_without_a_partner_are_not_judged() {
        let key = |name: &str| ("a.o".to_owned(), name.to_owned());
        let predictions = BTreeMap::from([(key("one"), prediction("loads", None))]);
        let realities = BTreeMap::from([
            (key("two"), Reality::Loaded),
            (key("one"), Reality::Unknown("the kernel crashed".to_owned())),
        ]);
        let found = Matrix::new("6.1", &predictions, &realities);
        assert_eq!(found.unjudged, ["6.1: a.o: one: the kernel crashed", "6.1: a.o: two: no prediction"]);
        assert_eq!(found.judged, 0);
    }

    #[test]
    fn the_table_has_a_row_for_each_prediction_and_a_column_for_each_outcome() {
        let mut found = matrix(&[
            ("a", prediction("loads", None), Reality::Loaded),
            ("b", prediction("refused", Some("helper")), refused(Cause::Helper)),
        ]);
        found.merge(matrix(&[("a", prediction("loads", None), Reality::Loaded)]));
        let expected = "predicted       loaded  helper\n\
                        loads                2       ·\n\
                        refused helper       ·       1";
        assert_eq!(found.table(), expected);
    }
}
