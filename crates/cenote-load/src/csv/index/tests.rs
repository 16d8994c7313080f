//! The loop over bytes is the oracle of the one over vectors.

use proptest::prelude::*;

use super::super::block::Cutter;
use super::super::records::{Fields, record};
use super::*;

fn dialect() -> Dialect {
    Dialect {
        delimiter: b',',
        quote: Some(b'"'),
        escape: None,
        comment: Vec::new(),
        pad: false,
        encoding: None,
    }
}

/// Records of two fields by the loop over bytes: each with where the next begins.
fn slowly(text: &[u8], whole: bool) -> Vec<(Vec<Vec<u8>>, usize)> {
    let (mut at, mut all) = (0, Vec::new());
    loop {
        let mut fields = Fields::default();
        fields.clear();
        let Some(found) = record(text, at, &dialect(), whole, &mut fields) else { return all };
        if found.fields != 2 {
            return all;
        }
        all.push(((0..2).map(|at| fields.field(at).to_vec()).collect(), found.next));
        at = found.next;
    }
}

fn cut(text: &[u8], limit: usize, whole: bool) -> (Vec<Vec<Vec<u8>>>, usize) {
    let mut cutter = Cutter::default();
    let cut = cutter.cut(text, limit, whole, 2, &dialect());
    let block = cutter.block(text);
    let (first, second) = (block.column(0), block.column(1));
    let rows = first.zip(second).map(|(a, b)| vec![a.to_vec(), b.to_vec()]);
    (rows.collect(), cut.bytes)
}

#[test]
fn what_programs_write_is_regular() {
    let mut ends = Vec::new();
    for text in [
        "a,b\n1,2\n",
        "a,b\r\n1,2\r\n",
        "\"a\",\"b,\nc\"\n\"\",x\n",
        &"0123456789,\"quoted, long\r\n enough\"\r\n".repeat(50),
    ] {
        let found = index(text.as_bytes(), &dialect(), &mut ends).unwrap();
        assert_eq!(found.fields, 2 * found.newlines, "{text:?}");
    }
    for text in ["a,b\r1,2\r", "a,\"b\"\"c\"\n", "a,b\"c\n", "a,\"b\"c\n", "a,\"\"\"\"\n"] {
        assert_eq!(index(text.as_bytes(), &dialect(), &mut ends), None, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn vectors_cut_as_bytes_do(
        text in prop_oneof![
            "([a\u{e9}]{0,3},[ab]{0,40}(\n|\r\n)){0,12}[ab,]{0,3}",
            "((\"[a,\n\"]{0,20}\"|[ab]{0,9}),(\"[a,\r\n]{0,20}\"|[ab]{0,9})(\n|\r\n)){0,12}",
            "([ab\",]{0,4}[\r\n]{0,2}){0,30}",
        ],
        limit in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut text = text.into_bytes();
        if whole && text.last() != Some(&b'\n') {
            text.push(b'\n');
        }
        let all = slowly(&text, whole);
        let limit = limit.index(text.len() + 1);
        // records that begin before the limit, as one after the other says where the next does
        let starts = std::iter::once(0).chain(all.iter().map(|(_, next)| *next));
        let wanted: Vec<_> =
            all.iter().zip(starts).take_while(|(_, start)| *start < limit).map(|(row, _)| row).collect();
        let (rows, bytes) = cut(&text, limit, whole);
        prop_assert_eq!(rows.len(), wanted.len());
        prop_assert_eq!(bytes, wanted.last().map_or(0, |(_, next)| *next));
        for (row, (fields, _)) in rows.iter().zip(&wanted) {
            prop_assert_eq!(row, fields);
        }
    }
}
