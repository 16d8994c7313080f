//! Rows in groups: a row operator of each group by itself. A group is all symbols with the
//! same code at that time.

use super::Scratch;
use crate::op::RowOp;

pub(super) fn apply(op: RowOp, x: &[f64], groups: &[f64], out: &mut [f64], scratch: &mut Scratch) {
    out.fill(f64::NAN);
    let mut order = std::mem::take(&mut scratch.order);
    let mut members = std::mem::take(&mut scratch.members);
    let mut results = std::mem::take(&mut scratch.results);
    scratch.sorter.order(groups, &mut order);
    let code = |place: &u32| groups[*place as usize];
    for group in order.chunk_by(|a, b| code(a) == code(b)) {
        members.clear();
        members.extend(group.iter().map(|&place| x[place as usize]));
        results.resize(members.len(), f64::NAN);
        super::apply(op, &members, &mut results, scratch);
        for (&place, result) in group.iter().zip(&results) {
            out[place as usize] = *result;
        }
    }
    (scratch.order, scratch.members, scratch.results) = (order, members, results);
}
