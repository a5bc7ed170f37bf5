//! Detection of growth that is not linear, by comparing the cost per added element at different sizes.

/// The cost of an input with `n` elements.
#[derive(Clone, Debug)]
pub struct Point {
    pub n: usize,
    pub ms: f64,
    pub kib: f64,
}

/// Larger sizes are skipped if their expected time exceeds this limit.
pub const LONGEST_MS: f64 = 60_000.0;

/// The ratio of costs per element from which growth is reported.
const REPORTED_RATIO: f64 = 1.5;

/// The smallest difference between two points that is significant, relative to the first point.
const SIGNIFICANT: f64 = 0.25;

/// Returns the expected time of size `n` for linear growth.
pub fn expected_ms(previous: &[Point], n: usize) -> Option<f64> {
    let last = previous.last()?;
    Some(last.ms * (n as f64 / last.n.max(1) as f64))
}

/// Returns remarks about a point whose cost per element is higher than that of the previous points.
pub fn remarks(previous: &[Point], point: &Point) -> Vec<String> {
    let figures = [("ms", (|p| p.ms) as fn(&Point) -> f64), ("KiB", |p| p.kib)];
    let remark = |(unit, figure): (&str, fn(&Point) -> f64)| {
        let points: Vec<_> = previous.iter().chain([point]).map(|p| (p.n as f64, figure(p))).collect();
        let costs = costs_per_element(&points);
        let ((_, first), (at, last)) = (costs.first()?, costs.last()?);
        let is_last_point = *at == point.n as f64 && costs.len() > 1;
        (is_last_point && last / first > REPORTED_RATIO).then(|| {
            format!("each added element costs {:.1} times the {unit} of the first ones", last / first)
        })
    };
    figures.into_iter().filter_map(remark).collect()
}

/// Returns the cost per added element at each size with a significant difference.
fn costs_per_element(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut costs = Vec::new();
    let Some(mut from) = points.first().copied() else { return costs };
    for to in &points[1..] {
        let (count, cost) = (to.0 - from.0, to.1 - from.1);
        if count > 0.0 && cost > from.1 * SIGNIFICANT {
            costs.push((to.0, cost / count));
            from = *to;
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the indices of the points with remarks.
    fn reported(costs: &[(usize, f64)]) -> Vec<usize> {
        let points: Vec<_> = costs.iter().map(|(n, ms)| Point { n: *n, ms: *ms, kib: 1.0 }).collect();
        let has_remarks = |at: &usize| !remarks(&points[..*at], &points[*at]).is_empty();
        (0..points.len()).filter(has_remarks).collect()
    }

    #[test]
    fn a_fixed_cost_and_a_linear_one_are_linear() {
        assert!(reported(&[(1, 5.1), (10, 6.0), (100, 15.0), (1000, 105.0)]).is_empty());
    }

    #[test]
    fn quadratic_growth_is_reported_from_the_first_significant_size() {
        assert_eq!(reported(&[(1, 1.0), (10, 100.0), (100, 10_000.0)]), [2]);
    }

    #[test]
    fn insignificant_differences_are_not_reported() {
        assert!(reported(&[(1, 5.0), (2, 5.000_1), (3, 5.1), (1000, 5.9)]).is_empty());
    }

    #[test]
    fn the_expected_time_is_proportional_to_the_size() {
        assert_eq!(expected_ms(&[Point { n: 10, ms: 3.0, kib: 0.0 }], 100), Some(30.0));
        assert_eq!(expected_ms(&[], 100), None);
    }
}
