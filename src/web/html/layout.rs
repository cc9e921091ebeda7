//! Positions the memories of a neighbourhood in a graph.
//!
//! A memory's column is its distance from the centre. In a column, each memory is placed near its relations in the
//! column before: ordered by the mean of their positions, the barycentre heuristic of Sugiyama, Tagawa and Toda,
//! "Methods for Visual Understanding of Hierarchical System Structures" (1981). The same neighbourhood always gives
//! the same layout.

use std::collections::BTreeMap;

use super::chart::tenths;

/// The size of a memory's box, in units of the picture.
pub const BOX_WIDTH: f64 = 250.0;
pub const BOX_HEIGHT: f64 = 46.0;
/// The gap between two columns, and between two boxes of one.
const GAP_ACROSS: f64 = 90.0;
const GAP_DOWN: f64 = 14.0;
/// Memories without relations per column.
const ALONE_ROWS: usize = 12;
/// The margin around everything.
const MARGIN: f64 = 4.0;

/// A memory to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    pub distance: usize,
}

/// A relation to be drawn, between two memories by their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub kind: String,
    pub weight: f64,
}

/// A memory's box, by its upper left corner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxPosition {
    pub x: String,
    pub y: String,
}

/// A line between two boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    /// As the `d` of a path.
    pub path: String,
    pub title: String,
    /// Whether it connects memories of one column, and so is drawn in the background.
    pub is_aside: bool,
}

/// The picture: a position for each node, in the order of the nodes, and the lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    pub width: String,
    pub height: String,
    pub places: Vec<BoxPosition>,
    pub curves: Vec<Curve>,
}

/// Assigns distances to nodes without a centre: in each group outward from the node with the most relations; nodes
/// without relations get columns of their own, [`ALONE_ROWS`] in each.
pub fn spread(nodes: &mut [Node], edges: &[Edge]) {
    let number: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(n, node)| (node.id.clone(), n)).collect();
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for edge in edges.iter().filter(|edge| edge.from != edge.to) {
        if let (Some(&from), Some(&to)) = (number.get(&edge.from), number.get(&edge.to)) {
            near[from].push(to);
            near[to].push(from);
        }
    }
    let mut order: Vec<usize> = (0..nodes.len()).filter(|n| !near[*n].is_empty()).collect();
    order.sort_by_key(|n| std::cmp::Reverse(near[*n].len()));
    let mut distances: Vec<Option<usize>> = vec![None; nodes.len()];
    for start in order {
        if distances[start].is_some() {
            continue;
        }
        let mut ring = vec![start];
        distances[start] = Some(0);
        let mut distance = 0;
        while !ring.is_empty() {
            distance += 1;
            let mut next = Vec::new();
            for other in ring.iter().flat_map(|n| &near[*n]) {
                if distances[*other].is_none() {
                    distances[*other] = Some(distance);
                    next.push(*other);
                }
            }
            ring = next;
        }
    }
    let beyond = distances.iter().flatten().max().map_or(0, |last| last + 1);
    let mut alone = 0;
    for (node, distance) in nodes.iter_mut().zip(distances) {
        node.distance = distance.unwrap_or_else(|| {
            alone += 1;
            beyond + (alone - 1) / ALONE_ROWS
        });
    }
}

/// Positions nodes and edges. An edge to a missing node is left out.
pub fn place(nodes: &[Node], edges: &[Edge]) -> Layout {
    let columns = columns(nodes, edges);
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let down = |rows: usize| rows as f64 * (BOX_HEIGHT + GAP_DOWN) - GAP_DOWN;
    let height = down(rows.max(1));
    let mut corners = vec![(0.0, 0.0); nodes.len()];
    for (n, column) in columns.iter().enumerate() {
        let top = (height - down(column.len())) / 2.0;
        for (row, node) in column.iter().enumerate() {
            let x = MARGIN + n as f64 * (BOX_WIDTH + GAP_ACROSS);
            corners[*node] = (x, MARGIN + top + row as f64 * (BOX_HEIGHT + GAP_DOWN));
        }
    }
    let number: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(n, node)| (node.id.as_str(), n)).collect();
    let curve = |edge: &Edge| {
        let (from, to) = (*number.get(edge.from.as_str())?, *number.get(edge.to.as_str())?);
        Some(curve(edge, corners[from], corners[to]))
    };
    let across = columns.len().max(1) as f64 * (BOX_WIDTH + GAP_ACROSS) - GAP_ACROSS;
    Layout {
        width: tenths(across + 2.0 * MARGIN),
        height: tenths(height + 2.0 * MARGIN),
        curves: edges.iter().filter(|edge| edge.from != edge.to).filter_map(curve).collect(),
        places: corners.iter().map(|(x, y)| BoxPosition { x: tenths(*x), y: tenths(*y) }).collect(),
    }
}

/// The nodes of each column from the top, by index.
fn columns(nodes: &[Node], edges: &[Edge]) -> Vec<Vec<usize>> {
    let last = nodes.iter().map(|node| node.distance).max().unwrap_or(0);
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
    for (n, node) in nodes.iter().enumerate() {
        columns[node.distance].push(n);
    }
    // A distance without nodes needs no column.
    columns.retain(|column| !column.is_empty());
    for n in 1..columns.len() {
        let row: BTreeMap<&str, f64> = columns[n - 1]
            .iter()
            .enumerate()
            .map(|(row, node)| (nodes[*node].id.as_str(), row as f64))
            .collect();
        let mean = |node: usize| {
            let id = nodes[node].id.as_str();
            let ends = edges.iter().filter_map(|edge| {
                let other = if edge.from == id { &edge.to } else { &edge.from };
                (edge.from == id || edge.to == id).then(|| row.get(other.as_str()).copied()).flatten()
            });
            let rows: Vec<f64> = ends.collect();
            if rows.is_empty() { f64::MAX } else { rows.iter().sum::<f64>() / rows.len() as f64 }
        };
        // Nodes with the same mean keep their order of discovery: the strongest relations first.
        let mut keyed: Vec<(f64, usize)> = columns[n].iter().map(|node| (mean(*node), *node)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        columns[n] = keyed.into_iter().map(|(_, node)| node).collect();
    }
    columns
}

/// The curve of an edge between two boxes: from side to side, or bent outwards to the right within a column.
fn curve(edge: &Edge, from: (f64, f64), to: (f64, f64)) -> Curve {
    let title = format!("{} {:.2}", edge.kind, edge.weight);
    let middle = |corner: (f64, f64)| corner.1 + BOX_HEIGHT / 2.0;
    let is_aside = (from.0 - to.0).abs() < 1.0;
    let path = if is_aside {
        let x = from.0 + BOX_WIDTH;
        let (bend, x) = (tenths(x + GAP_ACROSS / 3.0), tenths(x));
        let (y1, y2) = (tenths(middle(from)), tenths(middle(to)));
        format!("M{x} {y1}C{bend} {y1} {bend} {y2} {x} {y2}")
    } else {
        let (left, right) = if from.0 < to.0 { (from, to) } else { (to, from) };
        let (x1, x2) = (left.0 + BOX_WIDTH, right.0);
        let half = tenths(f64::midpoint(x1, x2));
        let (y1, y2) = (tenths(middle(left)), tenths(middle(right)));
        format!("M{} {y1}C{half} {y1} {half} {y2} {} {y2}", tenths(x1), tenths(x2))
    };
    Curve { path, title, is_aside }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, distance: usize) -> Node {
        Node { id: id.to_owned(), distance }
    }

    fn edge(from: &str, to: &str) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), kind: "similar".to_owned(), weight: 0.5 }
    }

    #[test]
    fn columns_are_distances_and_nobody_crosses_without_need() {
        let nodes = [node("m", 0), node("a", 1), node("b", 1), node("of_b", 2), node("of_a", 2)];
        let edges = [edge("m", "a"), edge("b", "m"), edge("b", "of_b"), edge("of_a", "a")];
        let layout = place(&nodes, &edges);
        let y = |n: usize| layout.places[n].y.parse::<f64>().unwrap();
        let x = |n: usize| layout.places[n].x.parse::<f64>().unwrap();
        assert!(x(0) < x(1) && x(1) < x(3) && (x(1) - x(2)).abs() < 0.1);
        assert!(y(1) < y(2) && y(4) < y(3), "a child stands beside its parent: {layout:?}");
        assert!((y(0) - f64::midpoint(y(1), y(2))).abs() < 0.1, "the middle one is in the middle");
        assert_eq!(layout.curves.len(), 4);
        assert_eq!(layout, place(&nodes, &edges), "the same picture each time");
    }

    #[test]
    fn memories_without_a_middle_are_spread_by_their_relations() {
        let mut nodes: Vec<Node> = (0..30).map(|n| node(&format!("n{n}"), 0)).collect();
        let pairs = [("n3", "n1"), ("n3", "n2"), ("n3", "n8"), ("n2", "n4"), ("n5", "n6"), ("n7", "gone")];
        let edges = pairs.map(|(from, to)| edge(from, to));
        spread(&mut nodes, &edges);
        let at = |n: usize| nodes[n].distance;
        assert_eq!((at(3), at(1), at(2), at(4)), (0, 1, 1, 2));
        assert_eq!(at(5) + at(6), 1);
        let alone = nodes.iter().filter(|node| node.distance > 2).count();
        assert_eq!((alone, nodes.iter().map(|node| node.distance).max()), (23, Some(4)));
        spread(&mut [], &[]);
    }

    #[test]
    fn boxes_never_overlap() {
        let nodes: Vec<Node> =
            (0..40).map(|n| node(&format!("n{n}"), usize::from(n > 0) + usize::from(n > 12))).collect();
        let edges: Vec<Edge> = (1..40).map(|n| edge("n0", &format!("n{n}"))).collect();
        let layout = place(&nodes, &edges);
        let corner = |n: usize| {
            (layout.places[n].x.parse::<f64>().unwrap(), layout.places[n].y.parse::<f64>().unwrap())
        };
        for a in 0..40 {
            for b in 0..a {
                let ((ax, ay), (bx, by)) = (corner(a), corner(b));
                assert!((ax - bx).abs() >= BOX_WIDTH || (ay - by).abs() >= BOX_HEIGHT, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_lonely_memory_and_odd_edges_are_drawn_too() {
        let layout = place(&[node("m", 0)], &[edge("m", "gone"), edge("m", "m")]);
        assert_eq!((layout.places.len(), layout.curves.len()), (1, 0));
        assert_eq!(place(&[], &[]).places.len(), 0);
        let aside = place(&[node("m", 0), node("a", 1), node("b", 1)], &[edge("a", "b")]);
        assert!(aside.curves[0].is_aside);
    }
}
