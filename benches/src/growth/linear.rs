//! Where growth is not linear: what each further one costs, beside what it cost before.

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Point {
    pub n: usize,
    pub ms: f64,
    pub kib: f64,
}

/// From how much more on a further one is said to cost more.
const MORE: f64 = 1.5;

/// What must be the difference between two points, in parts of the first, to say anything about what lies between.
const SIGNIFICANT: f64 = 0.25;

/// What the next point will take at least, going by those before.
pub fn expected(before: &[Point], n: usize) -> Option<f64> {
    let last = before.last()?;
    Some(last.ms * (n as f64 / last.n.max(1) as f64))
}

/// What is to be said of a point that follows others.
pub fn remarks(before: &[Point], point: &Point) -> Vec<String> {
    let figures = [("ms", (|p| p.ms) as fn(&Point) -> f64), ("KiB", |p| p.kib)];
    let remark = |(unit, figure): (&str, fn(&Point) -> f64)| {
        let points: Vec<_> = before.iter().chain([point]).map(|p| (p.n as f64, figure(p))).collect();
        let further = further(&points);
        let ((_, first), (at, last)) = (further.first()?, further.last()?);
        let is_of_this = *at == point.n as f64 && further.len() > 1;
        (is_of_this && last / first > MORE)
            .then(|| format!("each further one costs {:.1} times the {unit} of the first", last / first))
    };
    figures.into_iter().filter_map(remark).collect()
}

/// What each further one costs at each point, where that can be told.
fn further(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    let Some(mut from) = points.first().copied() else { return found };
    for to in &points[1..] {
        let (count, cost) = (to.0 - from.0, to.1 - from.1);
        if count > 0.0 && cost > from.1 * SIGNIFICANT {
            found.push((to.0, cost / count));
            from = *to;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(costs: &[(usize, f64)]) -> Vec<usize> {
        let points: Vec<_> = costs.iter().map(|(n, ms)| Point { n: *n, ms: *ms, kib: 1.0 }).collect();
        let is_told = |at: &usize| !remarks(&points[..*at], &points[*at]).is_empty();
        (0..points.len()).filter(is_told).collect()
    }

    #[test]
    fn a_fixed_cost_and_a_linear_one_are_linear() {
        assert!(told(&[(1, 5.1), (10, 6.0), (100, 15.0), (1000, 105.0)]).is_empty());
    }

    #[test]
    fn a_square_is_told_from_where_it_shows() {
        assert_eq!(told(&[(1, 1.0), (10, 100.0), (100, 10_000.0)]), [2]);
    }

    #[test]
    fn differences_too_small_to_mean_anything_say_nothing() {
        assert!(told(&[(1, 5.0), (2, 5.000_1), (3, 5.1), (1000, 5.9)]).is_empty());
    }

    #[test]
    fn the_next_point_is_expected_to_take_its_part_more() {
        assert_eq!(expected(&[Point { n: 10, ms: 3.0, kib: 0.0 }], 100), Some(30.0));
        assert_eq!(expected(&[], 100), None);
    }
}
