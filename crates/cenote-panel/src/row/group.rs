//! Rows in groups. A group is all symbols with the same code at that time.

use super::exact::sum;
use super::{Scratch, count};
use crate::op::GroupOp;

pub(super) fn apply(
    op: GroupOp,
    x: &[f64],
    groups: &[f64],
    out: &mut [f64],
    scratch: &mut Scratch,
) {
    out.fill(f64::NAN);
    let mut order = std::mem::take(&mut scratch.order);
    scratch.sorter.order(groups, &mut order);
    let mut members = std::mem::take(&mut scratch.values);
    let mut at = 0;
    while at < order.len() {
        let code = groups[order[at] as usize];
        let same = |place: &&u32| groups[**place as usize] == code;
        let end = at + order[at..].iter().take_while(same).count();
        let group = &order[at..end];
        members.clear();
        members.extend(group.iter().map(|&place| x[place as usize]));
        match op {
            GroupOp::Neutralize => {
                let mean = sum(&members) / count(&members);
                for &place in group {
                    out[place as usize] = x[place as usize] - mean;
                }
            }
            GroupOp::Rank => {
                let n = count(&members);
                let mut ranks = vec![f64::NAN; members.len()];
                scratch.sorter.ranks(&members, &mut ranks, |rank| rank / n);
                for (&place, rank) in group.iter().zip(ranks) {
                    out[place as usize] = rank;
                }
            }
        }
        at = end;
    }
    scratch.order = order;
    scratch.values = members;
}
