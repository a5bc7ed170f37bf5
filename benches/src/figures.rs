//! Figures of the peers: rows of the printed table and of its JSON.

use crate::peer::Peer;
use serde_json::{Map, Value, json};

/// One figure per peer, in the order of [`Peer::ALL`].
pub(crate) type Figures = [Option<f64>; 3];

/// Returns the figures of the measured `peers` in the order of [`Peer::ALL`].
pub(crate) fn spread(peers: &[Peer], figures: impl Iterator<Item = f64>) -> Figures {
    let mut found = [None; 3];
    for (peer, figure) in peers.iter().zip(figures) {
        if let Some(place) = Peer::ALL.iter().position(|p| p == peer).and_then(|at| found.get_mut(at)) {
            *place = Some(figure);
        }
    }
    found
}

/// Adds the keys `ours_UNIT`, `libbpf_UNIT`, `aya_UNIT`, and the ratios of the other peers to core-relo.
pub(crate) fn add(row: &mut Map<String, Value>, unit: &str, figures: Figures, suffix: &str) {
    let ours = figures[0];
    for (peer, figure) in Peer::ALL.into_iter().zip(figures) {
        row.insert(format!("{}_{unit}", peer.name()), json!(figure));
        if peer != Peer::Ours {
            let ratio = figure.zip(ours).map(|(figure, ours)| figure / ours);
            row.insert(format!("ratio_{}{suffix}", peer.name()), json!(ratio));
        }
    }
}

/// Returns the figures of a row.
pub(crate) fn figures(row: &Map<String, Value>, unit: &str) -> Figures {
    Peer::ALL.map(|peer| row.get(&format!("{}_{unit}", peer.name()))?.as_f64())
}

/// Returns the heading of a table.
pub(crate) fn heading(title: &str) -> String {
    format!("{title:<44} {:>9} {:>9} {:>9} {:>9} {:>9}", "ours", "libbpf", "aya", "libbpf ÷", "aya ÷")
}

/// Returns one line of a table.
pub(crate) fn line(title: &str, [ours, libbpf, aya]: Figures, decimals: usize) -> String {
    let number = |figure: Option<f64>| figure.map_or("-".to_owned(), |n| format!("{n:.decimals$}"));
    let ratio = |figure: Option<f64>| number(figure.zip(ours).map(|(figure, ours)| figure / ours));
    let (ours_text, ratios) = (number(ours), [ratio(libbpf), ratio(aya)]);
    format!(
        "{title:<44} {ours_text:>9} {:>9} {:>9} {:>9} {:>9}",
        number(libbpf),
        number(aya),
        ratios[0],
        ratios[1]
    )
}
